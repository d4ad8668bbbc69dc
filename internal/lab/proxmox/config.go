package proxmox

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// ErrConfig is the parent of every mistake in a Config.
var ErrConfig = errors.New("lab host")

// Config describes the host, or cluster of hosts, that is emulated.
type Config struct {
	// Hosts are the nodes. The first one answers requests that name none.
	Hosts []Host
	// Described is asked before each request whether the hosts are described otherwise by now: nil when they are not. What
	// they have more is then there for the request. The default never asks.
	Described func() []Host
	// Release is the Proxmox VE release; the default is 8.4.
	Release schema.Release
	// Tokens are the API tokens that exist from the start.
	Tokens []Token
	// Accounts have a password from the start.
	Accounts []Account
	// Pace scales the time that operations take. The zero value takes none.
	Pace pace.Pace
	// Machines receives the power of the VMs. The default ignores it.
	Machines Machines
	// Log receives one JSON line per call. The default drops them.
	Log io.Writer
	// Seed decides every generated MAC address and UUID.
	Seed [32]byte
	// StateFile keeps the host over restarts; "" keeps it in memory.
	StateFile string
	// Faults makes calls and workers fail. The default never does.
	Faults Faults
	// Downloads fetches what download-url asks for. The default is http.DefaultClient without a proxy.
	Downloads *http.Client
	// Now is the host's clock; the default is the real one.
	Now func() time.Time
}

// Host is one node.
type Host struct {
	// Name is the node's name, such as "vmhost".
	Name string
	// Cores is the number of CPU threads.
	Cores int
	// CPUModel is the processor's name as the host shows it.
	CPUModel string
	// MemoryMiB is the installed memory.
	MemoryMiB int
	Storages  []Storage
	Bridges   []Bridge
	PCI       []PCIDevice
}

// Storage is a storage as one host has it. A shared one stands at every host that has it, with the same facts.
type Storage struct {
	Name string
	Type storage.Type
	// Content are the content types, storage.Images and storage.ISO.
	Content []string
	// TotalBytes is its size, ReservedBytes what others have filled of it.
	TotalBytes, ReservedBytes uint64
	Shared                    bool
	// Path is the folder of a file-based storage.
	Path string
}

// Bridge is a Linux bridge of a host.
type Bridge struct {
	Name      string
	Ports     []string
	Address   netip.Prefix
	Gateway   netip.Addr
	VLANAware bool
}

// PCIDevice is a device that may be passed through. IDs are hexadecimal with a leading 0x, as Proxmox VE lists them.
type PCIDevice struct {
	// Address is domain:bus:slot.function, such as "0000:01:00.0".
	Address string
	// Class is the PCI class, such as 0x030000 for a display controller.
	Class                            string
	Vendor, Device                   string
	SubsystemVendor, SubsystemDevice string
	VendorName, DeviceName           string
	IOMMUGroup                       int
	MediatedDevices                  bool
	// Mapping is the resource mapping that names the device from the start; "" for none. Devices of several hosts, or
	// several of one, may share it.
	Mapping string
}

// Token is an API token with the role it has.
type Token struct {
	// ID is USER@REALM!NAME.
	ID string
	// Secret is the token's value: letters, digits and dashes.
	Secret string
	// Role is the name of the role, and Privileges what it consists of; a built-in role needs none.
	Role       string
	Privileges []string
	// Path is where the role holds, and below; the default is "/".
	Path string
}

// Account is a user who may open a session.
type Account struct {
	// ID is USER@REALM.
	ID string
	// Password opens the session.
	Password string
}

func (c Config) withDefaults() Config {
	if c.Release == "" {
		c.Release = schema.Release84
	}

	if c.Described == nil {
		c.Described = func() []Host { return nil }
	}

	if c.Machines == nil {
		c.Machines = noMachines{}
	}

	if c.Log == nil {
		c.Log = io.Discard
	}

	if c.Faults == nil {
		c.Faults = noFaults{}
	}

	if c.Downloads == nil {
		c.Downloads = &http.Client{Transport: &http.Transport{Proxy: nil}}
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	return c
}

// validate reports every mistake at once.
func (c Config) validate() error {
	var problems []error

	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}

	if len(c.Hosts) == 0 {
		add("there is none: name at least one")
	}

	shared := map[string]Storage{}

	for i, h := range c.Hosts {
		if schema.CheckFormat("pve-node", h.Name) != nil {
			add("%q is no name for one: use letters, digits and dashes", h.Name)
		}

		if slices.ContainsFunc(c.Hosts[:i], func(other Host) bool { return other.Name == h.Name }) {
			add("%s stands twice", h.Name)
		}

		if h.Cores < 1 || h.MemoryMiB < 1 {
			add("%s needs at least one core and one MiB of memory", h.Name)
		}

		for _, s := range h.Storages {
			h.validateStorage(s, shared, add)
		}
	}

	for _, t := range c.Tokens {
		if schema.CheckFormat("pve-tokenid", t.ID) != nil || t.Secret == "" {
			add("token %q needs the form USER@REALM!NAME and a secret", t.ID)
		}
	}

	return errors.Join(problems...)
}

func (h Host) validateStorage(s Storage, shared map[string]Storage, add func(string, ...any)) {
	if schema.CheckFormat("pve-storage-id", s.Name) != nil {
		add("%s: %q is no name for a storage", h.Name, s.Name)
	}

	if !s.Type.Known() {
		add("%s: storage %s has type %q, which is not emulated", h.Name, s.Name, s.Type)
	}

	if s.Type.FileBased() && s.Path == "" {
		add("%s: storage %s of type %s needs a path", h.Name, s.Name, s.Type)
	}

	if !s.Type.FileBased() && slices.Contains(s.Content, storage.ISO) {
		add("%s: storage %s of type %s cannot hold ISO files", h.Name, s.Name, s.Type)
	}

	other, seen := shared[s.Name]
	if seen && (other.Type != s.Type || other.Shared != s.Shared) {
		add("%s: storage %s differs from the one of that name on another host", h.Name, s.Name)
	}

	shared[s.Name] = s
}
