package cluster

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// metricType is what a kind of metric server takes beside the settings that all have (pve-manager PVE/Status/*.pm, options).
type metricType struct {
	required, optional []string
	// test returns the error of a server that the host does not reach.
	test func(s metricServer) error
}

var metricTypes = map[string]metricType{
	"graphite": {
		required: []string{"server"}, optional: []string{"port", "mtu", "proto", "timeout", "path", "disable"}, test: testGraphite,
	},
	"influxdb": {
		required: []string{"server", "port"},
		optional: []string{
			"mtu", "disable", "organization", "bucket", "token", "influxdbproto", "timeout", "max-body-size", "api-path-prefix",
			"verify-certificate",
		},
		test: testInfluxDB,
	},
	"opentelemetry": {
		required: []string{"server"},
		optional: []string{
			"port", "disable", "otel-protocol", "otel-path", "otel-timeout", "otel-headers", "otel-verify-ssl", "otel-max-body-size",
			"otel-resource-attributes", "otel-compression",
		},
		test: testOpenTelemetry,
	},
}

// check refuses what the type does not take (pve-common SectionConfig.pm, check_config and check_value).
func (t metricType) check(params schema.Params, creates bool) error {
	for _, name := range params.Names() {
		switch {
		case !slices.Contains(t.required, name) && !slices.Contains(t.optional, name):
			return fmt.Errorf("unexpected property '%s'", name)
		case strings.ContainsAny(params.Get(name), "\r\n"):
			return fmt.Errorf("property contains a line feed")
		}
	}

	for _, name := range t.required {
		if creates && !params.Has(name) {
			return fmt.Errorf("missing value for required option '%s'", name)
		}
	}

	return nil
}

// checkDeletion refuses settings that cannot be unset (pve-manager API2/Cluster/MetricServer.pm, update).
func (t metricType) checkDeletion(names []string, params schema.Params) error {
	for _, name := range names {
		switch {
		case slices.Contains(t.required, name):
			return fmt.Errorf("unable to delete required option '%s'", name)
		case !slices.Contains(t.optional, name):
			return fmt.Errorf("no such option '%s'", name)
		case params.Has(name):
			return fmt.Errorf("cannot set and delete property '%s' at the same time!", name)
		}
	}

	return nil
}

// unresolved is the error of a name that has no address.
const unresolved = "Name or service not known"

// resolves reports whether a host of the lab knows an address of the server. A server answers at every address. Only names below
// .invalid have no address, as everywhere (RFC 6761), so that a failure can be tried.
func (s metricServer) resolves() bool {
	name := strings.TrimSuffix(strings.ToLower(s["server"]), ".")
	return name != "invalid" && !strings.HasSuffix(name, ".invalid")
}

// setting returns a setting, or the default of the plugin if it is not set.
func (s metricServer) setting(name, otherwise string) string {
	if value := s[name]; value != "" {
		return value
	}

	return otherwise
}

// testGraphite opens a socket (pve-manager PVE/Status/Graphite.pm, _connect).
func testGraphite(s metricServer) error {
	if s["disable"] == "1" || s.resolves() {
		return nil
	}

	return fmt.Errorf("couldn't create carbon socket [%s]:%s - %s", s["server"], s.setting("port", "2003"), unresolved)
}

// testInfluxDB opens a socket, or asks for the health of the server (pve-manager PVE/Status/InfluxDB.pm, _connect and test_connection).
func testInfluxDB(s metricServer) error {
	switch {
	case s["disable"] == "1" || s.resolves():
		return nil
	case s.setting("influxdbproto", "udp") == "udp":
		return fmt.Errorf("couldn't create influxdb socket [%s]:%s - %s", s["server"], s["port"], unresolved)
	default:
		return fmt.Errorf("500 Can't connect to %s (%s)", net.JoinHostPort(s["server"], s["port"]), unresolved)
	}
}

// testOpenTelemetry sends empty metrics, also to a disabled server (pve-manager PVE/Status/OpenTelemetry.pm, test_connection).
func testOpenTelemetry(s metricServer) error {
	if s.resolves() {
		return nil
	}

	port := "4317"
	if s.setting("otel-protocol", "https") == "https" {
		port = "4318"
	}

	return fmt.Errorf("Connection test failed: 500 Can't connect to %s (%s) at /usr/share/perl5/PVE/Status/OpenTelemetry.pm line 707.",
		net.JoinHostPort(s["server"], s.setting("port", port)), unresolved)
}
