package systems

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// names checks every name in the file, but those of sources, bridges and pools.
func (c *checker) names() {
	f := c.inv.File
	c.dnsLabel(f.Name, key("name"))
	c.name(limits.Host, f.Proxmox.Host, key("proxmox", "host"))
	c.name(limits.Storage, f.Proxmox.DiskStorage, key("proxmox", "diskStorage"))
	c.name(limits.Storage, f.Proxmox.FileStorage, key("proxmox", "fileStorage"))
	c.tags(f.Proxmox.Tags, nil, key("proxmox", "tags"))
	taken := map[string]*strictyaml.Path{}
	for i, image := range f.Images {
		at := key("images").Index(i)
		c.dnsLabel(image.Name, at.Key("name"))
		c.unique(taken, image.Name, at)
		c.ownName(limits.Host, image.Host, at.Key("host"))
		c.ownName(limits.Storage, image.DiskStorage, at.Key("diskStorage"))
	}
	for _, s := range c.inv.systems() {
		c.dnsLabel(s.Name, s.at.Key("name"))
		c.unique(taken, s.Name, s.at)
		c.ownName(limits.Host, s.Host, s.at.Key("host"))
		c.ownName(limits.Storage, s.DiskStorage, s.at.Key("diskStorage"))
		c.tags(s.Tags, f.Proxmox.Tags, s.at.Key("tags"))
	}
}

// dnsLabel reports a name that is no label of a domain name.
func (c *checker) dnsLabel(name string, at *strictyaml.Path) {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return
	}
	problem := fault{What: "is not a DNS-1123 label", Rule: "a-z, 0-9 and -, a letter or digit first and last, at most 63 characters", Got: name, Do: "choose another name"}
	if lower := strings.ToLower(name); len(validation.IsDNS1123Label(lower)) == 0 {
		problem.Do = "did you mean " + lower + "?"
	}
	c.report(at, problem)
}

// name reports a name of the wrong form. It ignores the empty name.
func (c *checker) name(form limits.Name, name string, at *strictyaml.Path) {
	if name == "" || form.Matches(name) {
		return
	}
	c.report(at, fault{What: "is not valid in Proxmox VE", Rule: form.Words, Got: name, Do: "choose another name"})
}

// ownName does the same as name if the value is written at this place. A default is reported where it is written.
func (c *checker) ownName(form limits.Name, name string, at *strictyaml.Path) {
	if c.given(at) {
		c.name(form, name, at)
	}
}

// unique reports a name that is given before.
func (c *checker) unique(taken map[string]*strictyaml.Path, name string, at *strictyaml.Path) {
	if name == "" {
		return
	}
	if first := taken[name]; first != nil {
		c.report(at.Key("name"), fault{What: "is the name of " + first.String() + " too", Rule: "names are unique", Got: name, Do: "choose another name"})
		return
	}
	taken[name] = at
}

// tags checks a list of tags, which is added to others.
func (c *checker) tags(tags, others []string, at *strictyaml.Path) {
	seen := map[string]bool{}
	for _, tag := range others {
		seen[tag] = true
	}
	for i, tag := range tags {
		c.name(limits.Tag, tag, at.Index(i))
		if seen[tag] && tag != "" {
			c.report(at.Index(i), fault{What: "is given twice", Rule: "a system has each tag once", Got: tag, Do: "remove one of them"})
		}
		seen[tag] = true
	}
}

// pools checks the names of the pools.
func (c *checker) pools() {
	c.name(limits.Pool, c.inv.File.Proxmox.Pool, key("proxmox", "pool"))
	for _, s := range c.inv.systems() {
		c.ownName(limits.Pool, s.Pool, s.at.Key("pool"))
	}
}

// keys checks the form of SSH keys.
func (c *checker) keys() {
	c.sshKeys(c.inv.File.SSHKeys, key("sshKeys"))
	for _, s := range c.inv.systems() {
		c.sshKeys(s.SSHKeys, s.at.Key("sshKeys"))
	}
}

func (c *checker) sshKeys(keys []string, at *strictyaml.Path) {
	for i, one := range keys {
		if one == "" {
			continue
		}
		if strings.Contains(one, "PRIVATE KEY") {
			c.report(at.Index(i), fault{What: "is a private key", Rule: "a system gets the public one", Do: "take it out of this file, make a new pair, and write the content of the .pub file"})
			continue
		}
		if err := checkKey(one); err != nil {
			c.report(at.Index(i), fault{What: "is no SSH key", Rule: "one line of authorized_keys: type, key, comment", Got: one, Do: "write the content of a .pub file"})
		}
	}
}
