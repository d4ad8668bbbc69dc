// Package statistics has the host's measurements of its machines, in time series by VMID (pve-manager Service/pvestatd.pm,
// pve-cluster pmxcfs/status.c). Nothing is called while the service's lock is held.
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

// Service has the statistics by VMID. It is safe for concurrent use.
type Service struct {
	env     *host.Environment
	configs *config.Service

	mu     sync.Mutex
	series map[int]*series
}

// New returns a service without measurements.
func New(env *host.Environment, configs *config.Service) *Service {
	return &Service{env: env, configs: configs, series: map[int]*series{}}
}

// Measured is the persistent state.
type Measured struct {
	Series map[int]*series `json:"statistics,omitempty"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state Measured, release func()) {
	s.mu.Lock()

	return Measured{Series: s.series}, s.mu.Unlock
}

// Restore loads the persistent state, as after a power cut at the given time, which has ended all runs.
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

// Methods returns the API methods about statistics.
func (s *Service) Methods() []api.Method {
	return []api.Method{api.Get(settings.CreatePath+"/{vmid}/rrddata", s.rrdData)}
}
