package proxmox_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const metricServers = "/cluster/metrics/server"

// TestMetricServers follows a server of every type through its life and a restart. The token is not kept.
func TestMetricServers(t *testing.T) {
	t.Parallel()

	var log strings.Builder

	file := stateFile(t)
	start := func() *lab {
		return newLab(t, func(c *proxmox.Config) {
			c.Release, c.StateFile, c.Log = schema.Release91, file, &log
			c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
		})
	}
	l := start()
	read := func(id string) map[string]any {
		shown := map[string]any{}
		l.ok(http.MethodGet, metricServers+"/"+id, nil, &shown)

		return shown
	}

	l.ok(http.MethodPost, metricServers+"/inf", values("type=influxdb server=influx.lan port=8086 influxdbproto=https bucket=pve "+
		"organization=home token=hunter2 verify-certificate=0 max-body-size=1000"), nil)
	l.ok(http.MethodPost, metricServers+"/graph", values("type=graphite server=10.0.0.9 port=2003 proto=tcp path=pve.lab timeout=3"), nil)
	l.ok(http.MethodPost, metricServers+"/otel", values("type=opentelemetry server=fd00::9 port=4318 otel-protocol=http otel-timeout=7 disable=1"), nil)

	require.Equal(t, map[string]any{
		"type": "influxdb", "server": "influx.lan", "port": 8086.0, "influxdbproto": "https", "bucket": "pve", "organization": "home",
		"verify-certificate": 0.0, "max-body-size": 1000.0,
	}, read("inf"))
	require.Equal(t, map[string]any{
		"type": "graphite", "server": "10.0.0.9", "port": 2003.0, "proto": "tcp", "path": "pve.lab", "timeout": 3.0,
	}, read("graph"))

	l.ok(http.MethodPut, metricServers+"/graph", values("server=10.0.0.10 port=2004 disable=1 delete=path,proto token=hunter2"), nil)
	l.ok(http.MethodPut, metricServers+"/inf", values("server=influx.lan port=8086 delete=token,bucket token=hunter2"), nil)
	require.NotContains(t, read("inf"), "bucket")
	l.ok(http.MethodDelete, metricServers+"/otel", nil, nil)

	require.NoError(t, l.server.Close())

	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(kept)+log.String(), "hunter2")

	l = start()

	var list []map[string]any

	l.ok(http.MethodGet, metricServers, nil, &list)
	require.Equal(t, []map[string]any{
		{"id": "graph", "disable": 1.0, "type": "graphite", "server": "10.0.0.10", "port": 2004.0},
		{"id": "inf", "disable": 0.0, "type": "influxdb", "server": "influx.lan", "port": 8086.0},
	}, list)
	require.Equal(t, map[string]any{"type": "graphite", "server": "10.0.0.10", "port": 2004.0, "disable": 1.0, "timeout": 3.0}, read("graph"))
}

func TestRefusedMetricServers(t *testing.T) {
	t.Parallel()

	older, newer := aptLab(t, schema.Release84, ""), aptLab(t, schema.Release91, "")
	for _, l := range []*lab{older, newer} {
		l.ok(http.MethodPost, metricServers+"/graph", values("type=graphite server=10.0.0.9 port=2003"), nil)
	}

	for name, test := range map[string]struct {
		l                         *lab
		verb, id, params, problem string
	}{
		"one that is there":     {newer, http.MethodPost, "graph", "type=influxdb server=a port=1", "Metric server 'graph' already exists"},
		"of another type":       {newer, http.MethodPost, "m1", "type=graphite server=a port=1 bucket=b", "unexpected property 'bucket'"},
		"to read none":          {newer, http.MethodGet, "m1", "", "status server entry 'm1' does not exist"},
		"to change none":        {newer, http.MethodPut, "m1", "server=a port=1", "no such server 'm1'"},
		"a change of its type":  {newer, http.MethodPut, "graph", "server=a port=1 bucket=b", "unexpected property 'bucket'"},
		"to unset its address":  {newer, http.MethodPut, "graph", "server=a port=1 delete=server", "unable to delete required option 'server'"},
		"to unset an unknown":   {newer, http.MethodPut, "graph", "server=a port=1 delete=token", "no such option 'token'"},
		"to set and unset":      {newer, http.MethodPut, "graph", "server=a port=1 mtu=1400 delete=mtu", "cannot set and delete property 'mtu' at the same time!"},
		"an old digest":         {newer, http.MethodPut, "graph", "server=a port=1 digest=abc", "detected modified configuration - file changed by other user? Try again."},
		"to delete none on 9.1": {newer, http.MethodDelete, "m1", "", "cannot lookup undefined type! at /usr/share/perl5/PVE/API2/Cluster/MetricServer.pm line 295."},
		"to delete none on 8.4": {older, http.MethodDelete, "m1", "", "cannot lookup undefined type! at /usr/share/perl5/PVE/API2/Cluster/MetricServer.pm line 282."},
		"no carbon":             {newer, http.MethodPost, "m1", "type=graphite server=no.invalid port=2003", "couldn't create carbon socket [no.invalid]:2003 - Name or service not known"},
		"no socket":             {older, http.MethodPost, "m1", "type=influxdb server=no.invalid port=8089", "couldn't create influxdb socket [no.invalid]:8089 - Name or service not known"},
		"no health":             {newer, http.MethodPost, "m1", "type=influxdb server=no.invalid port=8086 influxdbproto=http", "500 Can't connect to no.invalid:8086 (Name or service not known)"},
		"no collector": {
			newer, http.MethodPost, "m1", "type=opentelemetry server=no.invalid port=4318 disable=1", "Connection test failed: 500 Can't connect to " +
				"no.invalid:4318 (Name or service not known) at /usr/share/perl5/PVE/Status/OpenTelemetry.pm line 707.",
		},
		"a change to nowhere": {newer, http.MethodPut, "graph", "server=no.invalid port=1", "couldn't create carbon socket [no.invalid]:1 - Name or service not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "500 "+test.problem, test.l.do(test.verb, metricServers+"/"+test.id, values(test.params)).Status)
		})
	}

	newer.ok(http.MethodPost, metricServers+"/off", values("type=graphite server=no.invalid port=1 disable=1"), nil)

	r := older.do(http.MethodPost, metricServers+"/m2", values("type=opentelemetry server=a port=1"))
	require.Equal(t, "value 'opentelemetry' does not have a value in the enumeration 'graphite, influxdb'", r.Errors["type"])

	r = newer.do(http.MethodPost, metricServers+"/m2", values("type=graphite server=a port=1 path=a..b"))
	require.Equal(t, "invalid format - value does not look like a valid graphite path\n", r.Errors["path"])
}

// TestOtherPeoplesClientSetsMetricServers defines a server with an independent client.
func TestOtherPeoplesClientSetsMetricServers(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	ctx, c := t.Context(), otherClient(l)

	require.NoError(t, c.Post(ctx, metricServers+"/graph", map[string]any{"type": "graphite", "server": "10.0.0.9", "port": 2003}, nil))
	require.NoError(t, c.Put(ctx, metricServers+"/graph", map[string]any{"server": "10.0.0.9", "port": 2004}, nil))

	var shown struct{ Port int }

	require.NoError(t, c.Get(ctx, metricServers+"/graph", &shown))
	require.Equal(t, 2004, shown.Port)
	require.NoError(t, c.Delete(ctx, metricServers+"/graph", nil))
}
