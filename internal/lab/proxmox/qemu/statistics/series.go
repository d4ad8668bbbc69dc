package statistics

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// series is what the host has measured of the machines of one VMID. Its file outlives the machines: the next machine with
// that VMID continues it (pve-cluster, pmxcfs/status.c, update_rrd_data).
type series struct {
	// Since is when the first machine was created, in seconds.
	Since int64 `json:"since"`
	// Runs are the times during which a machine ran, oldest first.
	Runs []timespan `json:"runs,omitempty"`
}

// timespan is a range in seconds; To is 0 while it lasts.
type timespan struct {
	From int64 `json:"from"`
	To   int64 `json:"to,omitempty"`
}

// firstSample is the delay until a new machine has a file, in seconds: pvestatd runs every ten seconds.
const firstSample = 10

// Begin starts the statistics of a VMID with its first machine.
func (s *Service) Begin(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.of(vmid)
}

// Run records the start or the end of a running machine.
func (s *Service) Run(vmid int, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.of(vmid).run(running, s.env.Now().Unix())
}

// of returns the series of a VMID, which starts with its first machine. The caller holds the lock.
func (s *Service) of(vmid int) *series {
	if s.series[vmid] == nil {
		s.series[vmid] = &series{Since: s.env.Now().Unix()}
	}

	return s.series[vmid]
}

func (m *series) run(running bool, now int64) {
	last := len(m.Runs) - 1
	lasts := last >= 0 && m.Runs[last].To == 0

	switch {
	case running && !lasts:
		m.Runs = append(m.Runs, timespan{From: now})
	case !running && lasts:
		m.Runs[last].To = max(now, m.Runs[last].From+1)
	}
}

// resolution is how a time frame is stored: the seconds per row, and the number of rows.
type resolution struct{ step, rows int64 }

// resolutions are those of pve-cluster RRD.pm, create_rrd_data: before release 9 (true), and since (false).
var resolutions = map[bool]map[string]resolution{
	true:  {"hour": {60, 60}, "day": {60 * 30, 70}, "week": {60 * 180, 70}, "month": {60 * 720, 70}, "year": {60 * 10080, 70}},
	false: {"hour": {60, 60}, "day": {60, 1440}, "week": {60 * 30, 336}, "month": {60 * 30, 1440}, "year": {3600 * 6, 1440}},
}

// measured is a row: values that exist for every machine, and values of a running machine only (pve-manager
// Service/pvestatd.pm, update_qemu_status).
type measured struct {
	Time    int64    `json:"time"`
	MaxCPU  int      `json:"maxcpu"`
	MaxMem  int      `json:"maxmem"`
	CPU     *float64 `json:"cpu,omitempty"`
	Mem     *float64 `json:"mem,omitempty"`
	NetIn   *float64 `json:"netin,omitempty"`
	NetOut  *float64 `json:"netout,omitempty"`
	Read    *float64 `json:"diskread,omitempty"`
	Written *float64 `json:"diskwrite,omitempty"`
}

// rrdData handles GET …/rrddata. All rows have the current maximum values of the machine.
func (s *Service) rrdData(c *api.Call) (any, error) {
	var may measured

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		may = measured{MaxCPU: m.Config.CPUs(), MaxMem: m.Config.MemoryMiB() << 20}
		return nil
	})
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.env.Now().Unix()

	kept := s.series[c.VMID]
	if kept == nil || now < kept.Since+firstSample {
		return nil, fmt.Errorf("RRD error: opening '/var/lib/rrdcached/db/%s/%d': No such file or directory", s.rrdFolder(), c.VMID)
	}

	return kept.rows(resolutions[s.env.Release == schema.Release84][c.Params.Get("timeframe")], may, now), nil
}

// rows returns the series in a resolution, up to now.
func (m *series) rows(r resolution, may measured, now int64) []measured {
	end := now / r.step * r.step
	rows := make([]measured, 0, r.rows)

	for from := end - r.step*r.rows; from < end; from += r.step {
		row := may
		row.Time = from
		// A value is known if the machine ran for at least half of the row's time (pve-cluster, pmxcfs/status.c:
		// RRA:AVERAGE:0.5:…).
		if 2*m.ran(from, from+r.step, now) >= r.step {
			row.CPU, row.Mem, row.NetIn, row.NetOut = new(0.01), new(float64(row.MaxMem)/2), new(512.0), new(256.0)
			row.Read, row.Written = new(0.0), new(1024.0)
		}

		rows = append(rows, row)
	}

	return rows
}

func (s *Service) rrdFolder() string {
	if s.env.Release == schema.Release84 {
		return "pve2-vm"
	}

	return "pve-vm-9.0"
}

// ran returns for how many seconds of a span a machine ran.
func (m *series) ran(from, to, now int64) int64 {
	var total int64

	for _, run := range m.Runs {
		end := run.To
		if end == 0 {
			end = now
		}

		total += max(0, min(to, end)-max(from, run.From))
	}

	return total
}
