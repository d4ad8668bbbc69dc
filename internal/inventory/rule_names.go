package inventory

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// The forms of names in Proxmox VE, as pve-common and pve-access-control register them.
var (
	// pve-node (JSONSchema.pm, pve_verify_node_name).
	hostName = nameRule{
		"a host's name: letters, digits and -, at most 63 characters",
		regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`),
	}
	// pve-storage-id (JSONSchema.pm, parse_id).
	storageName = nameRule{
		"a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit",
		regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`),
	}
	// pve-bridge-id (JSONSchema.pm, parse_bridge_id); Linux has no longer interface names (IFNAMSIZ).
	bridgeName = nameRule{
		"a bridge's name: letters, digits, -, _ and ., at most 15 characters",
		regexp.MustCompile(`^[a-zA-Z0-9._-]{1,15}$`),
	}
	// pve-poolid (AccessControl.pm, verify_poolname).
	poolName = nameRule{
		"a pool's ID: letters, digits, -, _ and ., nested with / three deep at most",
		regexp.MustCompile(`^[a-zA-Z0-9._-]+(/[a-zA-Z0-9._-]+){0,2}$`),
	}
	// pve-tag (JSONSchema.pm, pve_verify_tag). Proxmox VE stores tags in lower case unless a datacenter says otherwise.
	tagName = nameRule{
		"a tag: lower-case letters, digits, _, -, + and ., the first a letter, digit or _",
		regexp.MustCompile(`^[a-z0-9_][a-z0-9_+.-]*$`),
	}
	// pve-configid (JSONSchema.pm, pve_verify_configid).
	mappingName = nameRule{
		"a mapping's ID: a letter, then letters, digits, - and _, two characters at least",
		regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]+$`),
	}
	// dns-name (JSONSchema.pm, pve_verify_dns_name), which the name of a machine is.
	machineName = nameRule{
		"a machine's name: labels of letters, digits and - with dots between them",
		regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`),
	}
)

// nameRule is the form of a kind of name.
type nameRule struct {
	words string
	form  *regexp.Regexp
}

// check notes a name that has not the form. The empty name is none.
func (r nameRule) check(name string, at *strictyaml.Path, report report) {
	if name == "" || r.form.MatchString(name) {
		return
	}
	do := "choose another name"
	if lower := strings.ToLower(name); r.form.MatchString(lower) {
		do = "did you mean " + lower + "?"
	}
	report(at, fault{What: "is not valid in Proxmox VE", Rule: r.words, Got: name, Do: do})
}

// dnsLabel notes a name that is no DNS-1123 label: 63 characters at most, so that it can be a hostname and the value of
// the label kubernetes.io/hostname.
func dnsLabel(name string, at *strictyaml.Path, report report) {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return
	}
	problem := fault{
		What: "is not a DNS-1123 label", Rule: "a-z, 0-9 and -, a letter or digit first and last", Got: name,
		Do: "choose another name",
	}
	if len(name) > validation.DNS1123LabelMaxLength {
		problem.What = fmt.Sprintf("is too long by %d", len(name)-validation.DNS1123LabelMaxLength)
		problem.Rule = fmt.Sprintf("at most %d characters", validation.DNS1123LabelMaxLength)
	}
	guess := strings.Trim(strings.NewReplacer("_", "-", ".", "-", " ", "-").Replace(strings.ToLower(name)), "-")
	if len(validation.IsDNS1123Label(guess)) == 0 {
		problem.Do = "did you mean " + guess + "?"
	}
	report(at, problem)
}

// clusterNames checks every name in cluster.yaml.
func (c *checker) clusterNames() {
	cluster := c.inv.Cluster
	dnsLabel(cluster.Name, key("name"), c.cluster)
	proxmox := cluster.Proxmox
	hostName.check(proxmox.Host, key("proxmox", "host"), c.cluster)
	storageName.check(proxmox.ISOStorage, key("proxmox", "isoStorage"), c.cluster)
	storageName.check(proxmox.DiskStorage, key("proxmox", "diskStorage"), c.cluster)
	poolName.check(proxmox.Pool, key("proxmox", "pool"), c.cluster)
	c.tags(proxmox.Tags, nil, key("proxmox", "tags"), c.cluster)
	c.templateName()
	for _, host := range sortedKeys(proxmox.Template.PerHost) {
		hostName.check(host, key("proxmox", "template", "perHost", host), c.cluster)
	}
	bridgeName.check(cluster.Network.Bridge, key("network", "bridge"), c.cluster)
}

// templateName: by default it is made from the Talos version, which may hold characters that no name has.
func (c *checker) templateName() {
	at := key("proxmox", "template", "name")
	name := c.inv.Cluster.Proxmox.Template.Name
	if c.inv.clusterSource.Has(at) || machineName.form.MatchString(name) {
		machineName.check(name, at, c.cluster)
		return
	}
	if name != "" {
		c.cluster(at, fault{What: "cannot be made from talos.version", Rule: machineName.words, Got: name, Do: "give a name"})
	}
}

// tags checks a list of tags, which come on top of others.
func (c *checker) tags(tags, others []string, at *strictyaml.Path, report report) {
	seen := make(map[string]bool, len(tags)+len(others))
	for _, tag := range others {
		seen[tag] = true
	}
	for i, tag := range tags {
		tagName.check(tag, at.Index(i), report)
		if seen[tag] && tag != "" {
			report(at.Index(i), fault{What: "is given twice", Rule: "a machine has each tag once", Got: tag, Do: "remove one of them"})
		}
		seen[tag] = true
	}
}

// nodeNames checks the names of the nodes and that each is the name of one only.
func (c *checker) nodeNames() {
	taken := make(map[string]*strictyaml.Path, len(c.inv.Nodes))
	for i, node := range c.inv.Nodes {
		at := nodePath(i).Key("name")
		dnsLabel(node.Name, at, c.node)
		if node.Name == "" {
			continue
		}
		if first := taken[node.Name]; first != nil {
			c.node(at, fault{
				What: "is the name of " + first.String() + " too", Rule: "names are unique", Got: node.Name,
				Do: "choose another name",
			})
			continue
		}
		taken[node.Name] = nodePath(i)
		if node.Name == c.inv.Cluster.TemplateName() {
			c.node(at, fault{What: "is the name of the template", Rule: "names are unique", Got: node.Name, Do: "choose another name"})
		}
	}
}
