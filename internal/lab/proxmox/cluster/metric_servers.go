package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const metricEndpoint = "/cluster/metrics/server/{id}"

// metricServer has the settings of a server in status.cfg, its type among them. Its token is in a file of its own, which no call reads
// (pve-manager PVE/Status/InfluxDB.pm, set_credentials); the lab does not keep it.
type metricServer map[string]string

// listedMetricServer is a server in the list.
type listedMetricServer struct {
	ID      string `json:"id"`
	Disable int    `json:"disable"`
	Type    string `json:"type"`
	Server  string `json:"server"`
	Port    int    `json:"port"`
}

// listMetricServers handles GET /cluster/metrics/server (pve-manager API2/Cluster/MetricServer.pm, server_index).
func (s *Service) listMetricServers(*api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []listedMetricServer{}

	for _, id := range slices.Sorted(maps.Keys(s.metrics)) {
		m := s.metrics[id]
		list = append(list, listedMetricServer{
			ID: id, Disable: api.Flag(m["disable"] == "1"), Type: m["type"], Server: m["server"],
			Port: schema.Params{"port": schema.Scalar(m["port"])}.Int("port", 0),
		})
	}

	return list, nil
}

// getMetricServer handles GET /cluster/metrics/server/{id}.
func (s *Service) getMetricServer(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, ok := s.metrics[c.Params.Get("id")]
	if !ok {
		return nil, fmt.Errorf("status server entry '%s' does not exist", c.Params.Get("id"))
	}

	method, _ := s.env.Schema.Method(http.MethodPost, metricEndpoint)

	return schema.Typed{Values: maps.Clone(m), Declared: method.Parameters}, nil
}

// createMetricServer handles POST /cluster/metrics/server/{id}. A server that cannot be reached is not kept.
func (s *Service) createMetricServer(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id, kind := c.Params.Get("id"), c.Params.Get("type")
	params := c.Params.Without("id", "type", "token")

	if s.metrics[id] != nil {
		return nil, fmt.Errorf("Metric server '%s' already exists", id)
	}

	if err := metricTypes[kind].check(params, true); err != nil {
		return nil, err
	}

	made := metricServer{"type": kind}
	made.set(params)

	if err := metricTypes[kind].test(made); err != nil {
		return nil, err
	}

	s.metrics[id] = made
	s.env.Changed()

	return nil, nil
}

func (s metricServer) set(params schema.Params) {
	for _, name := range params.Names() {
		s[name] = params.Get(name)
	}
}

// updateMetricServer handles PUT /cluster/metrics/server/{id}.
func (s *Service) updateMetricServer(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id, deleted := c.Params.Get("id"), c.Params.List("delete")
	params := c.Params.Without("id", "digest", "delete", "token")

	if given := c.Params.Get("digest"); given != "" && given != s.metricsDigest() {
		return nil, api.ErrModified
	}

	known, ok := s.metrics[id]
	if !ok {
		return nil, fmt.Errorf("no such server '%s'", id)
	}

	kind := metricTypes[known["type"]]
	if err := kind.check(params, false); err != nil {
		return nil, err
	}

	if err := kind.checkDeletion(deleted, params); err != nil {
		return nil, err
	}

	changed := maps.Clone(known)
	changed.set(params)

	for _, name := range deleted {
		delete(changed, name)
	}

	if err := kind.test(changed); err != nil {
		return nil, err
	}

	s.metrics[id] = changed
	s.env.Changed()

	return nil, nil
}

// metricsDigest is that of status.cfg (pve-common SectionConfig.pm, write_config).
func (s *Service) metricsDigest() string {
	var text strings.Builder

	for _, id := range slices.Sorted(maps.Keys(s.metrics)) {
		fmt.Fprintf(&text, "%s: %s\n", s.metrics[id]["type"], id)

		for _, name := range slices.Sorted(maps.Keys(s.metrics[id])) {
			if name != "type" {
				fmt.Fprintf(&text, "\t%s %s\n", name, s.metrics[id][name])
			}
		}

		text.WriteString("\n")
	}

	return api.Digest(text.String())
}

// deleteMetricServer handles DELETE /cluster/metrics/server/{id}. If the server does not exist, Proxmox VE looks up an undefined type
// and fails.
func (s *Service) deleteMetricServer(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := c.Params.Get("id")
	if s.metrics[id] == nil {
		line := 295
		if s.env.Release == schema.Release84 {
			line = 282
		}

		return nil, fmt.Errorf("cannot lookup undefined type! at /usr/share/perl5/PVE/API2/Cluster/MetricServer.pm line %d.", line)
	}

	delete(s.metrics, id)
	s.env.Changed()

	return nil, nil
}

func (s *Service) metricMethods() []api.Method {
	return []api.Method{
		api.Get("/cluster/metrics/server", s.listMetricServers),
		api.Get(metricEndpoint, s.getMetricServer),
		api.Post(metricEndpoint, s.createMetricServer),
		api.Put(metricEndpoint, s.updateMetricServer),
		api.Delete(metricEndpoint, s.deleteMetricServer),
	}
}
