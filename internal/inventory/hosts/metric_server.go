package hosts

import "github.com/em-infra/em-infra/internal/inventory/manifest"

// MetricServer is a server that all hosts send their statistics to. One that exists is adopted; one that was made here goes when it is left out.
// Proxmox VE tries to reach a server when it is defined or changed.
type MetricServer struct {
	// Name of the server, its ID in Proxmox VE. Required. A change makes another one.
	Name string `yaml:"name" required:"true"`
	// Type of the server; opentelemetry needs Proxmox VE 9. Required. A change removes the definition and makes it anew.
	Type MetricServerType `yaml:"type" required:"true"`
	// Server is its address or DNS name. Required. A change is applied in place.
	Server string `yaml:"server" required:"true"`
	// Port of the server. Required. A change is applied in place.
	Port int `yaml:"port" required:"true" min:"1" max:"65535"`
	// Protocol: udp or tcp for graphite; udp, http or https for influxdb; http or https for opentelemetry. With http and https, influxdb takes a
	// token: the secret metricServers.NAME.token of secrets.sops.yaml, or em-infra:metricServerToken.NAME of the stack's configuration.
	// Required. A change is applied in place.
	Protocol MetricProtocol `yaml:"protocol" required:"true"`
	// Path is the root of the names in graphite, or the path of the endpoint of opentelemetry. Default: it stays as it is; in a new one
	// that of Proxmox VE. A change is applied in place.
	Path string `yaml:"path"`
	// Organization in influxdb. Default: it stays as it is; in a new one none. A change is applied in place.
	Organization string `yaml:"organization"`
	// Bucket in influxdb. Default: it stays as it is; in a new one none. A change is applied in place.
	Bucket string `yaml:"bucket"`
	// VerifyCertificate is whether the certificate of an https server is checked. Default: true. A change is applied in place.
	VerifyCertificate bool `yaml:"verifyCertificate" default:"true"`
	// Enabled is whether statistics are sent. Default: true. A change is applied in place.
	Enabled bool `yaml:"enabled" default:"true"`
}

// NeedsToken reports whether the server asks for a token.
func (m MetricServer) NeedsToken() bool {
	return m.Type == MetricsInfluxDB && (m.Protocol == MetricsHTTP || m.Protocol == MetricsHTTPS)
}

// MetricServerType is a kind of server of metrics.
type MetricServerType string

// The kinds of servers.
const (
	MetricsGraphite      MetricServerType = "graphite"
	MetricsInfluxDB      MetricServerType = "influxdb"
	MetricsOpenTelemetry MetricServerType = "opentelemetry"
)

// Choices returns all kinds.
func (MetricServerType) Choices() []string {
	return []string{string(MetricsGraphite), string(MetricsInfluxDB), string(MetricsOpenTelemetry)}
}

// UnmarshalText reads a kind.
func (m *MetricServerType) UnmarshalText(text []byte) error { return manifest.Choose(m, text) }

// MetricProtocol is how metrics are sent.
type MetricProtocol string

// The protocols.
const (
	MetricsUDP   MetricProtocol = "udp"
	MetricsTCP   MetricProtocol = "tcp"
	MetricsHTTP  MetricProtocol = "http"
	MetricsHTTPS MetricProtocol = "https"
)

// Choices returns all protocols.
func (MetricProtocol) Choices() []string {
	return []string{string(MetricsUDP), string(MetricsTCP), string(MetricsHTTP), string(MetricsHTTPS)}
}

// UnmarshalText reads a protocol.
func (m *MetricProtocol) UnmarshalText(text []byte) error { return manifest.Choose(m, text) }
