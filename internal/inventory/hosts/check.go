package hosts

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// fault is the problem of one value.
type fault = strictyaml.Fault

// checker collects the problems of an inventory. A rule skips a missing value: that was reported when the file was decoded.
type checker struct {
	manifest.Checker

	inv  *Inventory
	file string
}

// rules checks everything after the file is decoded.
func (c *checker) rules() {
	c.stackName()
	c.hosts()
	c.networks()
	c.storages()
	c.mappings()
	c.usbMappings()
	c.pools()
	c.access()
	c.options()
	c.metricServers()
	c.backupJobs()
}

// report records a problem of a value.
func (c *checker) report(at *strictyaml.Path, problem fault) {
	c.At(c.file, c.inv.source, at, problem)
}

// key returns the path of nested keys.
func key(keys ...string) *strictyaml.Path {
	var path *strictyaml.Path
	for _, key := range keys {
		path = path.Key(key)
	}
	return path
}

// stackName checks the name that all resources begin with.
func (c *checker) stackName() {
	name := c.inv.File.Name
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return
	}
	problem := fault{What: "is not a DNS-1123 label", Rule: "a-z, 0-9 and -, a letter or digit first and last, at most 63 characters", Got: name, Do: "choose another name"}
	if lower := strings.ToLower(name); len(validation.IsDNS1123Label(lower)) == 0 {
		problem.Do = "did you mean " + lower + "?"
	}
	c.report(key("name"), problem)
}

// name reports a name of the wrong form. It ignores the empty name.
func (c *checker) name(form limits.Name, name string, at *strictyaml.Path) {
	c.hasForm(form, name, at, "choose another name")
}

// hasForm does the same as name for a text that is not a name; do is what to do about it.
func (c *checker) hasForm(form limits.Name, text string, at *strictyaml.Path, do string) {
	if text != "" && !form.Matches(text) {
		c.report(at, fault{What: "is not valid in Proxmox VE", Rule: form.Words, Got: text, Do: do})
	}
}

// unique reports a name that is given before.
func (c *checker) unique(taken map[string]*strictyaml.Path, name string, at *strictyaml.Path) {
	if name == "" {
		return
	}
	if first := taken[name]; first != nil {
		c.report(at, fault{What: "is the name of " + first.String() + " too", Rule: "names are unique", Got: name, Do: "choose another name, or remove one of the two"})
		return
	}
	taken[name] = at
}

func (c *checker) hosts() {
	taken := map[string]*strictyaml.Path{}
	for i, host := range c.inv.File.Hosts {
		at := key("hosts").Index(i)
		c.name(limits.Host, host.Name, at.Key("name"))
		c.unique(taken, host.Name, at.Key("name"))
		if host.DNS != nil {
			c.dns(*host.DNS, at.Key("dns"))
		}
		c.settings(host, at)
	}
}

func (c *checker) dns(dns DNS, at *strictyaml.Path) {
	if domain := dns.SearchDomain; domain != "" && len(validation.IsDNS1123Subdomain(strings.ToLower(domain))) > 0 {
		c.report(at.Key("searchDomain"), fault{What: "is no DNS name", Got: domain, Do: "write one like home.example"})
	}
	for i, server := range dns.Servers {
		switch {
		case !server.IsValid():
		case server.IsUnspecified() || server.IsMulticast() || server.Zone() != "":
			c.report(at.Key("servers").Index(i), fault{What: "is no address of a server", Got: server.String(), Do: "correct it"})
		case slices.Index(dns.Servers, server) < i:
			c.report(at.Key("servers").Index(i), fault{What: "is given twice", Got: server.String(), Do: "remove one of the two"})
		}
	}
}

func (c *checker) pools() {
	taken := map[string]*strictyaml.Path{}
	for i, pool := range c.inv.File.Pools {
		at := key("pools").Index(i).Key("name")
		c.name(limits.Pool, pool.Name, at)
		c.unique(taken, pool.Name, at)
	}
}
