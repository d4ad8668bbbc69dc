// Package statistics is what a host has measured of its machines, in time series by VMID (pve-manager Service/pvestatd.pm,
// pve-cluster pmxcfs/status.c). The lock of its service is held for moments,
// in which it calls nobody.
package statistics

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
)

// Service is the statistics by VMID. It is safe for concurrent use.
type Service struct {
	env     *host.Environment
	configs *config.Service

	mu     sync.Mutex
	series map[int]*series
}

// New is a cluster of which nothing was measured yet.
func New(env *host.Environment, configs *config.Service) *Service {
	return &Service{env: env, configs: configs, series: map[int]*series{}}
}

// Measured is what outlives the process.
type Measured struct {
	Series map[int]*series `json:"statistics,omitempty"`
}

// Save returns what is kept, to be written before release is called.
func (s *Service) Save() (state Measured, release func()) {
	s.mu.Lock()

	return Measured{Series: s.series}, s.mu.Unlock
}

// Restore takes over what was kept as after a power cut at a time, which ended what ran.
func (s *Service) Restore(state []byte, at time.Time) error {
	restored := Measured{Series: map[int]*series{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	for _, measured := range restored.Series {
		measured.run(false, at.Unix())
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.series = restored.Series

	return nil
}

// Methods are those of the API about statistics.
func (s *Service) Methods() []api.Method {
	return []api.Method{api.Get(settings.CreatePath+"/{vmid}/rrddata", s.rrdData)}
}
