package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// hostSettings are the parts of the state file of the lab's host that a stack of hosts configures.
type hostSettings struct {
	Networks map[string]struct {
		Active map[string]Interface `json:"active"`
	} `json:"networks"`
	Access struct {
		Users map[string]struct {
			Enabled bool `json:"enabled"`
			Tokens  map[string]struct {
				Secret string `json:"secret"`
			} `json:"tokens"`
		} `json:"users"`
	} `json:"access"`
	Options    map[string]string `json:"options"`
	TimeZones  map[string]string `json:"timezones"`
	BackupJobs []struct {
		ID       string            `json:"id"`
		Settings map[string]string `json:"settings"`
	} `json:"backupJobs"`
}

// Interface is one of a host, as it is active.
type Interface struct {
	MTU      string `json:"mtu"`
	Comments string `json:"comments"`
	Address  string `json:"address"`
}

// HostSettings are what a stack of hosts configures.
type HostSettings struct {
	Interfaces map[string]Interface
	// Storages are the content types of each, sorted.
	Storages map[string]string
	// Users are the enabled ones, with the names of their tokens.
	Users map[string][]string
	// Pools are the names of resource pools.
	Pools              []string
	Keyboard, TimeZone string
	// Schedules are those of the backup jobs.
	Schedules map[string]string
	// Secrets are those of all tokens.
	Secrets []string
}

// ReadHostSettings reads the state file of the lab's host. Its pools are asked for elsewhere.
func ReadHostSettings(text []byte) (HostSettings, error) {
	var file struct {
		State struct {
			Storages map[string]struct {
				Content []string `json:"content"`
			} `json:"storages"`
			hostSettings
		} `json:"state"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return HostSettings{}, fmt.Errorf("the host's settings: %w", err)
	}
	seen := HostSettings{
		Interfaces: file.State.Networks[site.Host(1)].Active, Keyboard: file.State.Options["keyboard"], TimeZone: file.State.TimeZones[site.Host(1)],
		Storages: map[string]string{}, Users: map[string][]string{}, Schedules: map[string]string{},
	}
	for name, storage := range file.State.Storages {
		seen.Storages[name] = sorted(storage.Content)
	}
	for name, user := range file.State.Access.Users {
		for _, token := range user.Tokens {
			seen.Secrets = append(seen.Secrets, token.Secret)
		}
		if user.Enabled {
			seen.Users[name] = slices.Sorted(maps.Keys(user.Tokens))
		}
	}
	for _, job := range file.State.BackupJobs {
		seen.Schedules[job.ID] = job.Settings["schedule"]
	}
	return seen, nil
}

// there were before any stack, so they are never deleted.
var there = struct{ interfaces, storages []string }{[]string{"eno1", "vmbr0"}, []string{"local", "local-lvm"}}

// HostsWhole returns how a host differs from hosts.yaml. Foreign pools were made by hand.
func HostsWhole(want site.Hosts, foreignPools []string, seen HostSettings) []Violation {
	b := &broken{invariant: Whole}
	wanted := append(want.Interfaces(), there.interfaces...)
	b.names("interface", wanted, slices.Collect(maps.Keys(seen.Interfaces)), func(name string) bool { return strings.HasPrefix(name, "vmbr1") })
	b.is("MTU of vmbr1", fmt.Sprint(want.MTU), seen.Interfaces["vmbr1"].MTU)
	comment, _, _ := strings.Cut(seen.Interfaces["vmbr1"].Comments, "\n")
	b.is("comment of vmbr1", want.Comment, comment)
	b.names("storage", append(want.Storages(), there.storages...), slices.Collect(maps.Keys(seen.Storages)), func(name string) bool { return strings.HasPrefix(name, "share-") })
	b.is("content of nas", sorted(want.Content), seen.Storages["nas"])
	b.names("user", append(want.UserNames(), "em-infra@pve", "root@pam"), slices.Collect(maps.Keys(seen.Users)), func(name string) bool { return strings.HasPrefix(name, "user-") })
	for _, name := range want.UserNames() {
		b.is("tokens of "+name, "life", strings.Join(seen.Users[name], " "))
	}
	b.names("pool", append(want.PoolNames(), foreignPools...), seen.Pools, func(name string) bool { return strings.HasPrefix(name, "pool-") })
	b.is("keyboard", want.Keyboard, seen.Keyboard)
	b.is("time zone", want.TimeZone, seen.TimeZone)
	b.is("schedule of nightly", want.Schedule(), seen.Schedules["nightly"])
	return b.found
}

// HostKept returns what is lost of what was there before any stack, or was made by hand.
func HostKept(foreignPools []string, seen HostSettings) []Violation {
	b := &broken{invariant: Kept}
	none := func(string) bool { return false }
	b.names("interface", there.interfaces, slices.Collect(maps.Keys(seen.Interfaces)), none)
	b.names("storage", there.storages, slices.Collect(maps.Keys(seen.Storages)), none)
	b.names("pool", foreignPools, seen.Pools, none)
	b.is("tokens of em-infra@pve", "rehearsal", strings.Join(seen.Users["em-infra@pve"], " "))
	return b.found
}

// names reports which names are missing, and which of the stack's own are left over.
func (b *broken) names(what string, want, have []string, own func(name string) bool) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(want))) {
		if !slices.Contains(have, name) {
			b.say("there is no %s %s", what, name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(have)) {
		if own(name) && !slices.Contains(want, name) {
			b.say("the %s %s is left over", what, name)
		}
	}
}

func (b *broken) is(what, want, have string) {
	if want != have {
		b.say("%s is %q, not %q", what, have, want)
	}
}

// mostSnapshots is how many snapshots of em-infra a system may have: as many as an inventory keeps, and the one of a run that failed.
const mostSnapshots = 4

// SystemsWhole returns how the systems differ from systems.yaml. Snapshots are those that were taken by hand, by the names of systems.
func SystemsWhole(want site.Systems, snapshots map[string][]string, seen []Machine) []Violation {
	b := &broken{invariant: Whole}
	left := map[int]Machine{}
	for _, m := range seen {
		left[m.VMID] = m
	}
	for _, one := range want.Items {
		m, found := left[one.VMID]
		delete(left, one.VMID)
		if !found {
			b.say("there is no system %s", one.Name)
			continue
		}
		b.system(one, m)
		b.snapshots(one, snapshots[one.Name], m)
	}
	for _, vmid := range slices.Sorted(maps.Keys(left)) {
		if !left[vmid].Template {
			b.say("VM %d (%s) is in no inventory", vmid, left[vmid].Name)
		}
	}
	return b.found
}

func (b *broken) system(want site.System, m Machine) {
	b.is("name of "+want.Name, want.Name, m.Name)
	b.is(want.Name+" runs", "true", fmt.Sprint(m.Running))
	b.is("lock of "+want.Name, "", m.Lock)
	b.is("memory of "+want.Name, fmt.Sprint(want.MemoryMiB), fmt.Sprint(m.MemoryMiB))
	b.is("cores of "+want.Name, fmt.Sprint(want.Cores), fmt.Sprint(m.Cores))
	b.is("tags of "+want.Name, sorted(want.Tags()), sorted(m.Tags))
	size := uint64(0)
	if len(m.Disks) > 0 {
		size = m.Disks[0].Bytes / gib
	}
	b.is("disk of "+want.Name, fmt.Sprint(want.DiskGiB), fmt.Sprint(size))
}

func (b *broken) snapshots(want site.System, byHand []string, m Machine) {
	ours := 0
	for _, name := range m.Snapshots {
		if strings.HasPrefix(name, "em-infra-") {
			ours++
		}
	}
	if ours > mostSnapshots {
		b.say("%s has %d snapshots of em-infra", want.Name, ours)
	}
	for _, name := range byHand {
		if !slices.Contains(m.Snapshots, name) {
			b.say("the snapshot %s of %s, which was taken by hand, is lost", name, want.Name)
		}
	}
}
