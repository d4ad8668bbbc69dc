// Package hostfile reads the hosts to emulate from a small YAML file, for users without an inventory. Without a file there is
// one host, as the installer of Proxmox VE sets it up.
package hostfile

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// file is the format of the file.
type file struct {
	// Network has the machines' addresses. The lab moves it to loopback.
	Network string `yaml:"network" default:"192.168.20.0/24"`
	Hosts   []host `yaml:"hosts" required:"true" min:"1"`
}

type host struct {
	Name      string     `yaml:"name" required:"true"`
	Cores     int        `yaml:"cores" default:"16" min:"1" max:"8192"`
	MemoryGiB int        `yaml:"memoryGiB" default:"64" min:"1" max:"65536"`
	Bridges   []string   `yaml:"bridges" default:"[vmbr0]"`
	Storages  []volumes  `yaml:"storages"`
	PCI       []function `yaml:"pci"`
}

// volumes is a storage.
type volumes struct {
	Name    string   `yaml:"name" required:"true"`
	Type    string   `yaml:"type" required:"true"`
	Content []string `yaml:"content" required:"true" min:"1"`
	SizeGiB int      `yaml:"sizeGiB" default:"512" min:"1" max:"1048576"`
	Shared  bool     `yaml:"shared"`
	Path    string   `yaml:"path"`
}

// function is a PCI device. IDs are hexadecimal with a leading 0x.
type function struct {
	Address         string `yaml:"address" required:"true"`
	Class           string `yaml:"class" default:"'0x030000'"`
	Vendor          string `yaml:"vendor" required:"true"`
	Device          string `yaml:"device" required:"true"`
	SubsystemVendor string `yaml:"subsystemVendor"`
	SubsystemDevice string `yaml:"subsystemDevice"`
	IOMMUGroup      int    `yaml:"iommuGroup" default:"1" min:"0" max:"65535"`
	Mapping         string `yaml:"mapping"`
}

// cpuModel is the CPU that the hosts report; nothing depends on it.
const cpuModel = "AMD EPYC 4244P 6-Core Processor"

// Load reads a file; "" is one host named pve. The error contains all mistakes, each with its line.
func Load(path string) (lab.Site, error) {
	if path == "" {
		return site(file{Network: "192.168.20.0/24", Hosts: []host{{Name: "pve", Cores: 16, MemoryGiB: 64, Bridges: []string{"vmbr0"}}}})
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return lab.Site{}, fmt.Errorf("%w: write the file, or leave --hosts out for one host as its installer leaves it", err)
	}
	read, err := parse(path, text)
	if err != nil {
		return lab.Site{}, err
	}
	s, err := site(read)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parse(path string, text []byte) (read file, err error) {
	document, finding := strictyaml.Parse(text)
	if finding != nil {
		return read, sentence(path, *finding)
	}
	findings, err := document.Decode(&read)
	problems := []error{err}
	for _, f := range findings {
		problems = append(problems, sentence(path, f))
	}
	return read, errors.Join(problems...)
}

func sentence(path string, f strictyaml.Finding) error {
	place := path
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", path, f.Line)
	}
	if f.Path != "" {
		place += ": " + f.Path
	}
	return fmt.Errorf("%s: %s", place, f.Fault)
}

func site(read file) (lab.Site, error) {
	network, err := netip.ParsePrefix(read.Network)
	if err != nil || !network.Addr().Is4() || network.Bits() < 16 {
		return lab.Site{}, fmt.Errorf("network: is no network that machines can be moved from (IPv4, /16 or longer; got %s): write one such as 192.168.20.0/24", strictyaml.Shown(read.Network))
	}
	hosts := make([]proxmox.Host, len(read.Hosts))
	for i, h := range read.Hosts {
		hosts[i] = h.described()
	}
	return lab.Site{Hosts: hosts, Host: read.Hosts[0].Name, Networks: []netip.Prefix{network.Masked()}}, hardware.Validate(hosts)
}

func (h host) described() proxmox.Host {
	described := proxmox.Host{Name: h.Name, Cores: h.Cores, CPUModel: cpuModel, MemoryMiB: h.MemoryGiB << 10, Storages: installed()}
	for _, name := range h.Bridges {
		described.Bridges = append(described.Bridges, proxmox.Bridge{Name: name, Ports: []string{"eno1"}, VLANAware: true})
	}
	if len(h.Storages) > 0 {
		described.Storages = nil
	}
	for _, v := range h.Storages {
		described.Storages = append(described.Storages, v.described())
	}
	for _, f := range h.PCI {
		described.PCI = append(described.PCI, proxmox.PCIDevice{
			Address: f.Address, Class: f.Class, Vendor: f.Vendor, Device: f.Device,
			SubsystemVendor: f.SubsystemVendor, SubsystemDevice: f.SubsystemDevice, IOMMUGroup: f.IOMMUGroup, Mapping: f.Mapping,
		})
	}
	return described
}

// folder returns the default folder of a file-based storage, "" for other types.
func (v volumes) folder() string {
	switch {
	case !storage.Type(v.Type).FileBased():
		return ""
	case v.Name == "local":
		return "/var/lib/vz"
	default:
		return "/mnt/pve/" + v.Name
	}
}

func (v volumes) described() proxmox.Storage {
	return proxmox.Storage{
		Name: v.Name, Type: storage.Type(v.Type), Content: v.Content, TotalBytes: uint64(v.SizeGiB) << 30, Shared: v.Shared,
		Path: cmp.Or(v.Path, v.folder()),
	}
}

// installed returns the storages that the installer creates (pve-installer, Proxmox/Install.pm, extract_data).
func installed() []proxmox.Storage {
	return []proxmox.Storage{
		volumes{Name: "local", Type: string(storage.Dir), Content: []string{storage.ISO}, SizeGiB: 96}.described(),
		volumes{Name: "local-lvm", Type: string(storage.LVMThin), Content: []string{storage.Images}, SizeGiB: 1 << 10}.described(),
	}
}
