package newstack

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
)

// SystemsPlan is a stack of systems that fits its site: a virtual machine for everything, and a container for the DNS of the site.
type SystemsPlan struct {
	// Answers are complete. Systems use one host.
	Answers
	// FileStorage keeps images and templates.
	FileStorage string
	// ImageVMID is the VMID of the image's template.
	ImageVMID int
	// Tools is the virtual machine, and DNS the container.
	Tools, DNS SystemOfPlan

	site Site
}

// SystemOfPlan is a system of a plan.
type SystemOfPlan struct {
	Name    string
	VMID    int
	Address netip.Prefix
}

// Where VMIDs of systems are looked for.
const (
	firstSystem, systemBlock = 210, 10
	firstImage, imageBlock   = 9100, 10
)

// ProposeSystems completes the answers to a stack of systems. Errors are as for [Site.Propose].
func (s Site) ProposeSystems(answers Answers) (SystemsPlan, error) {
	defaults, err := inventory.DefaultCluster()
	if err != nil {
		return SystemsPlan{}, err
	}
	p := &proposal{site: s, taken: s.taken(), Plan: Plan{Answers: answers, Defaults: defaults}}
	p.chooseHosts()
	if len(answers.Hosts) > 1 {
		p.problem("the systems that are proposed are on one host (got %s): name one with --host, and write host: into the others of systems.yaml", strings.Join(answers.Hosts, ", "))
	}
	p.Hosts = p.Hosts[:min(len(p.Hosts), 1)]
	plan := SystemsPlan{site: s}
	if p.readings() && len(p.Hosts) > 0 {
		p.chooseBridge()
		p.chooseNetwork()
		plan.FileStorage = p.storageOfFiles()
		if p.DiskStorage == "" {
			p.DiskStorage = p.best(both(p.with(contentImages), p.with(contentRootDir)), contentImages, contentRootDir)
		}
		plan.ImageVMID = p.freeBlock(firstImage, imageBlock, 1)[0]
		p.placeSystems(&plan)
	}
	plan.Answers = p.Answers
	return plan, errors.Join(p.problems...)
}

// storageOfFiles returns the storage for images and templates. The installer's folder takes them once a stack of hosts says so.
func (p *proposal) storageOfFiles() string {
	host := p.Hosts[0]
	if p.site.Makers.MakeStorage(installedStorage, host, contentTemplate) && p.site.Makers.MakeStorage(installedStorage, host, contentImport) {
		return installedStorage
	}
	names := both(p.with(contentTemplate), p.with(contentImport))
	if slices.Contains(names, installedStorage) {
		return installedStorage
	}
	if len(names) == 0 {
		storage := p.storage(host, installedStorage)
		p.problem("host %s has no active storage for content types %s and %s: write a stack of hosts first, with `em-infra init --kind hosts --stack hosts`, or as root on the host: `pvesm set %s --content %s`",
			host, contentTemplate, contentImport, installedStorage, union(storage.Content, contentTemplate, contentImport))
		return ""
	}
	return p.best(names, contentImport)
}

// placeSystems gives the systems their names, VMIDs and addresses.
func (p *proposal) placeSystems(plan *SystemsPlan) {
	vmids := p.freeBlock(firstSystem, systemBlock, 2)
	plan.Tools, plan.DNS = SystemOfPlan{Name: p.freeName("tools"), VMID: vmids[0]}, SystemOfPlan{Name: p.freeName("pihole"), VMID: vmids[1]}
	if !p.Network.IsValid() || !p.Network.Addr().Is4() {
		return
	}
	free := p.addresses(2, "one for each system", "name a larger network with --network, or an earlier --first-address")
	if free == nil {
		return
	}
	plan.DNS.Address, plan.Tools.Address = netip.PrefixFrom(free[0], p.Network.Bits()), netip.PrefixFrom(free[1], p.Network.Bits())
}

// freeName returns a name for a system, with that of the stack before it if another machine has it.
func (p *proposal) freeName(name string) string {
	if _, is := p.taken.names[name]; !is {
		return name
	}
	longer := p.Stack + "-" + name
	if whose, is := p.taken.names[longer]; is {
		p.problem("%s is called %s already: choose another --stack, or rename it", whose, longer)
	}
	return longer
}

// Release returns the release of Proxmox VE.
func (p SystemsPlan) Release() string { return p.site.Found.Version.Value }

// DiskNote returns the free room on the storage of the disks.
func (p SystemsPlan) DiskNote() string {
	one := &proposal{Plan: Plan{Answers: p.Answers}, site: p.site}
	return fmt.Sprintf("%d GiB free", one.freeGiB(p.DiskStorage))
}
