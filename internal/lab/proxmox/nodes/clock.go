package nodes

import (
	"fmt"
	"regexp"
	"time"
	_ "time/tzdata" // the zones that a host has, on every machine that the lab runs on

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// hostTime is the clock of a host.
type hostTime struct {
	Time int64 `json:"time"`
	// LocalTime is what a clock on the wall shows, as seconds since 1970 there.
	LocalTime int64  `json:"localtime"`
	Timezone  string `json:"timezone"`
}

// installedZone is the time zone of the lab's hosts until it is changed.
const installedZone = "UTC"

// zoneName is the form of the zones that timedatectl lists: without the copies for other clocks ("posix/", "right/"), and without the names
// that have another meaning in Go or on a host ("Local", "localtime").
var zoneName = regexp.MustCompile(`^(?:UTC|[A-Z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+)*)$`)

// zone returns a time zone (pve-common Systemd.pm, set_timezone and list_timezones).
func zone(name string) (*time.Location, bool) {
	if name == "Local" || !zoneName.MatchString(name) {
		return nil, false
	}

	location, err := time.LoadLocation(name)

	return location, err == nil
}

func (s *Service) zoneOf(node string) string {
	if name := s.timezones[node]; name != "" {
		return name
	}

	return installedZone
}

// Timezone returns the name of a node's time zone.
func (s *Service) Timezone(node string) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.zoneOf(node)
}

// getTime handles GET /nodes/{node}/time (API2/Nodes.pm, time).
func (s *Service) getTime(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := s.zoneOf(c.Node)

	location, known := zone(name)
	if !known {
		return nil, fmt.Errorf("the lab has no time zone %s", name)
	}

	now := s.env.Now()
	_, offset := now.In(location).Zone()

	return hostTime{Time: now.Unix(), LocalTime: now.Unix() + int64(offset), Timezone: name}, nil
}

// setTime handles PUT /nodes/{node}/time.
func (s *Service) setTime(c *api.Call) (any, error) {
	name := c.Params.Get("timezone")
	if _, known := zone(name); !known {
		return nil, schema.BadParam("timezone", "No such timezone")
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.timezones[c.Node] = name
	s.env.Changed()

	return nil, nil
}
