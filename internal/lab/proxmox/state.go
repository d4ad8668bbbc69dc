package proxmox

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// state is everything that outlives the lab's process.
type state struct {
	Access   *access.Database            `json:"access"`
	VMs      map[int]*vm                 `json:"vms"`
	Storages map[string]*storage.Storage `json:"storages"`
	Networks map[string]*network         `json:"networks"`
	// PCIMappings and USBMappings are the cluster's resource mappings.
	PCIMappings map[string]*mapping `json:"pci_mappings"`
	USBMappings map[string]*mapping `json:"usb_mappings"`
	// Statistics are the files of what was measured, by VMID.
	Statistics map[int]*statistics `json:"statistics,omitempty"`
	// HA are the VMs that the cluster's HA manager looks after.
	HA map[int]*haResource `json:"ha,omitempty"`
	// Options are the cluster's, Timezones the nodes'.
	Options   map[string]string `json:"options"`
	Timezones map[string]string `json:"timezones"`
	// Draws counts how often randomness was drawn for a purpose, so that it never repeats.
	Draws map[string]uint64 `json:"draws"`
}

// vm is a virtual machine with its power.
type vm struct {
	ID     int              `json:"id"`
	Node   string           `json:"node"`
	Config *vmconfig.Config `json:"config"`

	// Running is whether QEMU runs. What follows is what it was started with.
	Running bool      `json:"running,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Shown is when the status turns to running; it lags only when a fault asks for it.
	Shown time.Time `json:"-"`
	// LockUntil keeps the configuration's lock visible, when a fault asks for it.
	LockUntil time.Time `json:"-"`
	Memory    int       `json:"memory,omitempty"`
	PCI       []string  `json:"pci,omitempty"`
	// Snapshots are what the machine was, by name.
	Snapshots map[string]*snapshot `json:"snapshots,omitempty"`
	// Reboot is set while a reboot waits for the machine to be off.
	Reboot bool `json:"-"`
}

func newState(config Config) (*state, error) {
	st := &state{
		Access: access.New(config.Release), VMs: map[int]*vm{}, Storages: map[string]*storage.Storage{},
		Networks: map[string]*network{}, PCIMappings: map[string]*mapping{}, USBMappings: map[string]*mapping{},
		HA: map[int]*haResource{}, Options: map[string]string{"keyboard": "en-us"}, Timezones: map[string]string{},
		Draws: map[string]uint64{},
	}

	for _, host := range config.Hosts {
		st.Networks[host.Name] = newNetwork(host)

		for _, s := range host.Storages {
			st.addStorage(host.Name, s)
		}

		for _, device := range host.PCI {
			st.mapDevice(host.Name, device)
		}
	}

	for _, token := range config.Tokens {
		if err := st.addToken(token); err != nil {
			return nil, err
		}
	}

	for _, account := range config.Accounts {
		if err := st.Access.Open(account.ID, account.Password); err != nil {
			return nil, err
		}
	}

	return st, nil
}

func (st *state) addStorage(node string, s Storage) {
	known, ok := st.Storages[s.Name]
	if !ok {
		known = storage.New(storage.Definition{
			ID: s.Name, Type: s.Type, Content: s.Content, Shared: s.Shared, Path: s.Path,
		})
		st.Storages[s.Name] = known
	}

	known.Nodes = append(known.Nodes, node)
	known.AddRoom(node, s.TotalBytes, s.ReservedBytes)
}

// addToken makes a separated token as the documented set-up does: user and token both get the role on the path.
func (st *state) addToken(t Token) error {
	st.Access.SetToken(t.ID, t.Secret, access.Token{Separated: true})

	if len(t.Privileges) > 0 {
		if err := st.Access.SetRole(t.Role, t.Privileges); err != nil {
			return fmt.Errorf("%w: role %s of token %s: %w", ErrConfig, t.Role, t.ID, err)
		}
	}

	if _, ok := st.Access.Roles[t.Role]; !ok {
		return fmt.Errorf("%w: role %q of token %s does not exist: give its privileges", ErrConfig, t.Role, t.ID)
	}

	path := t.Path
	if path == "" {
		path = "/"
	}

	owner := access.Owner(t.ID)
	st.Access.AddGrant(access.Grant{Path: path, Kind: access.KindUser, Subject: owner, Role: t.Role, Propagate: true})
	st.Access.AddGrant(access.Grant{Path: path, Kind: access.KindToken, Subject: t.ID, Role: t.Role, Propagate: true})

	return nil
}

// random is a stream of its own for each drawing, so that what one VM gets does not depend on what others did.
func (s *Server) random(purpose string) io.Reader {
	s.state.Draws[purpose]++

	var seed [32]byte

	sum := sha256.New()
	fmt.Fprintf(sum, "%x %s %d", s.config.Seed, purpose, s.state.Draws[purpose])
	sum.Sum(seed[:0])

	return rand.NewChaCha8(seed)
}

// find returns a VM on a node, or the error of a configuration file that is not there.
func (st *state) find(node string, vmid int) (*vm, error) {
	if m, ok := st.VMs[vmid]; ok && m.Node == node {
		return m, nil
	}

	return nil, fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", node, vmid)
}

// sorted lists the VMs by ID.
func (st *state) sorted() []*vm {
	all := slices.Collect(maps.Values(st.VMs))
	slices.SortFunc(all, func(a, b *vm) int { return a.ID - b.ID })

	return all
}

// storage returns a storage that a node has.
func (st *state) storage(id, node string) (*storage.Storage, error) {
	found, ok := st.Storages[id]
	if !ok {
		return nil, fmt.Errorf("storage '%s' does not exist", id)
	}

	if !found.OnNode(node) {
		return nil, fmt.Errorf("storage '%s' is not available on node '%s'", id, node)
	}

	return found, nil
}

// lock is the operation that a configuration is locked for, or "".
func (m *vm) lock(now time.Time) string {
	if lock := m.Config.Lock(); lock != "" {
		return lock
	}

	if now.Before(m.LockUntil) {
		return "clone"
	}

	return ""
}

// checkLock fails for a configuration that some operation holds (pve-guest-common AbstractConfig.pm, check_lock).
func (s *Server) checkLock(m *vm) error {
	if lock := m.lock(s.config.Now()); lock != "" {
		return fmt.Errorf("VM is locked (%s)", lock)
	}

	return nil
}

// checkProtection fails for a protected VM.
func (m *vm) checkProtection(problem string) error {
	if m.Config.Flag("protection") {
		return fmt.Errorf("%s - protection mode enabled", problem)
	}

	return nil
}
