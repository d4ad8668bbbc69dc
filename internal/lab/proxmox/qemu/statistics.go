package qemu

import (
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// statistics is what the host has measured of the machines of one VMID, in one file that is no machine's own: it outlives
// them, and the next machine of that VMID writes on in it (pve-cluster, pmxcfs/status.c, update_rrd_data).
type statistics struct {
	// Since is when the first machine was made, in seconds.
	Since int64 `json:"since"`
	// Runs are the times in which one ran, the oldest first.
	Runs []timespan `json:"runs,omitempty"`
}

// timespan is from one second to another; To is 0 while it lasts.
type timespan struct {
	From int64 `json:"from"`
	To   int64 `json:"to,omitempty"`
}

// firstSample is when there is a file for a new machine: pvestatd looks every ten seconds.
const firstSample = 10

// measure begins the statistics of a VMID with its first machine. The lock is held.
func (s *Service) measure(vmid int) {
	if s.statistics[vmid] == nil {
		s.statistics[vmid] = &statistics{Since: s.env.Now().Unix()}
	}
}

// measureRun notes that a machine begins or ends to run. The lock is held.
func (s *Service) measureRun(vmid int, running bool) {
	s.measure(vmid)
	s.statistics[vmid].run(running, s.env.Now().Unix())
}

func (m *statistics) run(running bool, now int64) {
	last := len(m.Runs) - 1
	lasts := last >= 0 && m.Runs[last].To == 0

	switch {
	case running && !lasts:
		m.Runs = append(m.Runs, timespan{From: now})
	case !running && lasts:
		m.Runs[last].To = max(now, m.Runs[last].From+1)
	}
}

// resolution is how a time frame is kept: the seconds that a row stands for, and how many rows there are.
type resolution struct{ step, rows int64 }

// resolutions are those of pve-cluster RRD.pm, create_rrd_data: the files of releases before 9, and those since.
var resolutions = map[bool]map[string]resolution{
	true:  {"hour": {60, 60}, "day": {60 * 30, 70}, "week": {60 * 180, 70}, "month": {60 * 720, 70}, "year": {60 * 10080, 70}},
	false: {"hour": {60, 60}, "day": {60, 1440}, "week": {60 * 30, 336}, "month": {60 * 30, 1440}, "year": {3600 * 6, 1440}},
}

// measured is a row: what a machine that is off has too, and what only one that runs has (pve-manager Service/pvestatd.pm,
// update_qemu_status).
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

// rrdData answers GET …/rrddata. What a machine is allowed to have is told of all the time, as it is now.
func (s *Service) rrdData(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(c.Node, c.VMID)
	if err != nil {
		return nil, err
	}

	now := s.env.Now().Unix()

	kept := s.statistics[c.VMID]
	if kept == nil || now < kept.Since+firstSample {
		return nil, fmt.Errorf("RRD error: opening '/var/lib/rrdcached/db/%s/%d': No such file or directory", s.rrdFolder(), c.VMID)
	}

	r := resolutions[s.env.Release == schema.Release84][c.Params.Get("timeframe")]
	end := now / r.step * r.step
	rows := make([]measured, 0, r.rows)

	for from := end - r.step*r.rows; from < end; from += r.step {
		row := measured{Time: from, MaxCPU: m.Config.CPUs(), MaxMem: m.Config.MemoryMiB() << 20}
		// A value is known when at least half of its time is (pve-cluster, pmxcfs/status.c: RRA:AVERAGE:0.5:…).
		if 2*kept.ran(from, from+r.step, now) >= r.step {
			row.CPU, row.Mem, row.NetIn, row.NetOut = new(0.01), new(float64(row.MaxMem)/2), new(512.0), new(256.0)
			row.Read, row.Written = new(0.0), new(1024.0)
		}

		rows = append(rows, row)
	}

	return rows, nil
}

func (s *Service) rrdFolder() string {
	if s.env.Release == schema.Release84 {
		return "pve2-vm"
	}

	return "pve-vm-9.0"
}

// ran is for how many seconds of a span a machine ran.
func (m *statistics) ran(from, to, now int64) int64 {
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

// stopped ends what was measured when the power went.
func (m *statistics) stopped(at time.Time) {
	m.run(false, at.Unix())
}
