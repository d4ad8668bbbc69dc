package hosts

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// macPrefix is what Proxmox VE accepts (pve-cluster, PVE/DataCenterConfig.pm, pve_verify_mac_prefix): one to three bytes of a unicast address.
var macPrefix = regexp.MustCompile(`(?i)^[0-9a-f][02468ace](:[0-9a-f]{2}){0,2}:?$`)

// options checks the settings of the cluster.
func (c *checker) options() {
	options, at := c.inv.File.Options, key("options")
	if email := options.EmailFrom; email != "" && !userEmail.MatchString(email) {
		c.report(at.Key("emailFrom"), fault{What: "is no address of a mailbox", Got: email, Do: "write one like admin@home.example"})
	}
	if proxy := options.HTTPProxy; proxy != "" {
		parsed, err := url.Parse(proxy)
		switch {
		case err != nil || parsed.Scheme != "http" || parsed.Host == "":
			c.report(at.Key("httpProxy"), fault{What: "is no address of a proxy", Rule: "http://HOST:PORT", Do: "write one like http://proxy.home.example:3128"})
		case parsed.User != nil:
			c.report(at.Key("httpProxy"), fault{What: "has a password or a user in it", Rule: "everybody who may read the inventory could read it", Do: "use a proxy that lets the hosts in by their addresses"})
		}
	}
	if prefix := options.MACPrefix; prefix != "" && !macPrefix.MatchString(prefix) {
		c.report(at.Key("macPrefix"), fault{What: "is no beginning of a MAC address", Rule: "one to three bytes of a unicast address", Got: prefix, Do: "write one like BC:24:11"})
	}
	if m := options.Migration; m != nil && m.Network.IsValid() && m.Network != m.Network.Masked() {
		c.report(at.Key("migration").Key("network"), fault{What: "is no network", Rule: "the bits after its length are 0", Got: m.Network.String(), Do: "did you mean " + m.Network.Masked().String() + "?"})
	}
	if next := options.NextVMID; next != nil && next.Lower >= next.Upper {
		c.report(at.Key("nextVmid"), fault{What: "is empty", Rule: "lower is below upper", Got: strconv.Itoa(next.Lower) + " to " + strconv.Itoa(next.Upper), Do: "correct one of the two"})
	}
	if limits := options.BandwidthLimits; limits != nil && *limits == (BandwidthLimits{}) {
		c.report(at.Key("bandwidthLimits"), fault{What: "has no limit", Do: "give one, or remove it"})
	}
}

// protocolsOf are the protocols and the other keys of each type of metric server (pve-manager, PVE/Status).
var protocolsOf = map[MetricServerType]struct {
	protocols []MetricProtocol
	keys      []string
}{
	MetricsGraphite:      {[]MetricProtocol{MetricsUDP, MetricsTCP}, []string{"path"}},
	MetricsInfluxDB:      {[]MetricProtocol{MetricsUDP, MetricsHTTP, MetricsHTTPS}, []string{"organization", "bucket"}},
	MetricsOpenTelemetry: {[]MetricProtocol{MetricsHTTP, MetricsHTTPS}, []string{"path"}},
}

// metricServers checks the servers of metrics.
func (c *checker) metricServers() {
	taken := map[string]*strictyaml.Path{}
	for i, server := range c.inv.File.MetricServers {
		at := key("metricServers").Index(i)
		c.name(limits.ConfigID, server.Name, at.Key("name"))
		c.unique(taken, server.Name, at.Key("name"))
		c.serverName(server.Server, at.Key("server"))
		kind, known := protocolsOf[server.Type]
		if !known {
			continue
		}
		if server.Protocol != "" && !slices.Contains(kind.protocols, server.Protocol) {
			words := make([]string, len(kind.protocols))
			for i, protocol := range kind.protocols {
				words[i] = string(protocol)
			}
			c.report(at.Key("protocol"), fault{What: "is no protocol of " + string(server.Type), Rule: "it has " + strings.Join(words, ", "), Got: string(server.Protocol), Do: "choose one of these"})
		}
		for _, one := range []setting{{"path", server.Path}, {"organization", server.Organization}, {"bucket", server.Bucket}} {
			if one.value != "" && !slices.Contains(kind.keys, one.key) {
				c.report(at.Key(one.key), fault{What: "has no meaning for the type " + string(server.Type), Rule: "its own keys are " + strings.Join(kind.keys, ", "), Got: one.value, Do: "remove it, or correct the type"})
			}
		}
		if !server.VerifyCertificate && server.Protocol != MetricsHTTPS {
			c.report(at.Key("verifyCertificate"), fault{What: "has no effect", Rule: "only https has a certificate", Do: "remove it, or write protocol: https"})
		}
	}
}

// serverName reports what is neither an address nor a DNS name.
func (c *checker) serverName(server string, at *strictyaml.Path) {
	if server != "" && len(validation.IsDNS1123Subdomain(strings.ToLower(server))) > 0 && len(validation.IsValidIP(nil, server)) > 0 {
		c.report(at, fault{What: "is not valid in Proxmox VE", Rule: "an address or a DNS name", Got: server, Do: "correct it"})
	}
}
