package inventory

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// checkName reports a name of the wrong form. It ignores the empty name.
func checkName(form limits.Name, name string, at *strictyaml.Path, report report) {
	if name == "" || form.Matches(name) {
		return
	}
	do := "choose another name"
	if lower := strings.ToLower(name); form.Matches(lower) {
		do = "did you mean " + lower + "?"
	}
	report(at, fault{What: "is not valid in Proxmox VE", Rule: form.Words, Got: name, Do: do})
}

// dnsLabel reports a name that is not a DNS-1123 label of at most 63 characters, the limit of a hostname and of the value of
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
	checkName(limits.Host, proxmox.Host, key("proxmox", "host"), c.cluster)
	checkName(limits.Storage, proxmox.ISOStorage, key("proxmox", "isoStorage"), c.cluster)
	checkName(limits.Storage, proxmox.DiskStorage, key("proxmox", "diskStorage"), c.cluster)
	checkName(limits.Pool, proxmox.Pool, key("proxmox", "pool"), c.cluster)
	c.tags(proxmox.Tags, nil, key("proxmox", "tags"), c.cluster)
	c.templateName()
	for _, host := range sortedKeys(proxmox.Template.PerHost) {
		checkName(limits.Host, host, key("proxmox", "template", "perHost", host), c.cluster)
	}
	checkName(limits.Bridge, cluster.Network.Bridge, key("network", "bridge"), c.cluster)
}

// templateName checks the template's name: its default contains the Talos version, which may contain characters that are
// invalid in a name.
func (c *checker) templateName() {
	at := key("proxmox", "template", "name")
	name := c.inv.Cluster.Proxmox.Template.Name
	if c.inv.clusterSource.Has(at) || limits.Machine.Matches(name) {
		checkName(limits.Machine, name, at, c.cluster)
		return
	}
	if name != "" {
		c.cluster(at, fault{What: "cannot be made from talos.version", Rule: limits.Machine.Words, Got: name, Do: "give a name"})
	}
}

// tags checks a list of tags, which is added to others.
func (c *checker) tags(tags, others []string, at *strictyaml.Path, report report) {
	seen := make(map[string]bool, len(tags)+len(others))
	for _, tag := range others {
		seen[tag] = true
	}
	for i, tag := range tags {
		checkName(limits.Tag, tag, at.Index(i), report)
		if seen[tag] && tag != "" {
			report(at.Index(i), fault{What: "is given twice", Rule: "a machine has each tag once", Got: tag, Do: "remove one of them"})
		}
		seen[tag] = true
	}
}

// nodeNames checks the names of the nodes, and that they are unique.
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
