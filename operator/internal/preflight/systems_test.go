package preflight_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	lab "github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// systemsYAML has a machine on pve1 and a container on pve2.
const systemsYAML = `apiVersion: em-infra/v1alpha1
kind: Systems
name: home
proxmox: {host: pve1, diskStorage: tank}
images:
  - {name: debian, url: "https://images.example/debian.qcow2", checksum: "sha256:SUM", vmid: 9100}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:SUM", osType: debian}
virtualMachines:
  - {name: tools, vmid: 210, image: debian, networks: [{address: dhcp}]}
containers:
  - {name: pihole, vmid: 211, host: pve2, template: debian, networks: [{address: dhcp}]}
`

func systemsOf(t *testing.T, old, replacement string) *systems.Inventory {
	t.Helper()
	require.Contains(t, systemsYAML, old)
	text := strings.ReplaceAll(strings.Replace(systemsYAML, old, replacement, 1), "SUM", strings.Repeat("ab", 32))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systems.yaml"), []byte(text), 0o600))
	inv, err := systems.Load(dir)
	require.NoError(t, err)
	return inv
}

// forSystems lets the hosts take images, templates of containers, and their roots.
func forSystems(config proxmox.Config) proxmox.Config {
	for i := range config.Hosts {
		config.Hosts[i].Storages = []proxmox.Storage{
			{Name: "local", Type: lab.Dir, Content: []string{lab.ISO, lab.Import, lab.Template}, TotalBytes: 100 * gib, Path: "/var/lib/vz"},
			{Name: "tank", Type: lab.ZFSPool, Content: []string{lab.Images, lab.RootDir}, TotalBytes: 1000 * gib},
		}
	}
	return config
}

func TestHostsCanBearSystems(t *testing.T) {
	t.Parallel()
	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			subject, calls := emulate(t, forSystems(emulatedConfig(release)))
			report, err := preflight.Systems(t.Context(), preflight.SystemsSubject{Inventory: systemsOf(t, "name: home", "name: home"), Host: subject.Host})
			require.NoError(t, err)
			var sentences []string
			for _, check := range report {
				require.Equal(t, preflight.OK, check.Result, check.Sentence)
				sentences = append(sentences, check.Sentence)
			}
			require.Equal(t, []string{
				"host pve1 is online", "host pve2 is online",
				"the storages of pve1 take what the systems need", "pve1 has vmbr0",
				"the storages of pve2 take what the systems need", "pve2 has vmbr0",
				"token ops@pve!k8s has what the plan needs", "3 VMIDs: free, or ours",
			}, sentences)
			for verb := range calls.verbs(t) {
				require.Equal(t, http.MethodGet, verb)
			}
		})
	}
}

func TestWhatHostsOfSystemsLack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, replacement string
		alter            func(*proxmox.Config)
		want             []string
	}{
		"a host": {"host: pve2", "host: pve3", nil, []string{"there is no host pve3: correct host in systems.yaml"}},
		"content types": {"name: home", "name: home", func(c *proxmox.Config) {
			for i := range c.Hosts { // a storage of a name is configured once for all hosts
				c.Hosts[i].Storages[0].Content, c.Hosts[i].Storages[1].Content = []string{lab.ISO, lab.Import}, []string{lab.Images}
			}
		}, []string{
			"storage local on pve2 does not take vztmpl, only import,iso: as root on the host: `pvesm set local --content import,iso,vztmpl`",
			"storage tank on pve2 does not take rootdir, only images: as root on the host: `pvesm set tank --content images,rootdir`",
		}},
		"a storage": {"host: pve2", "host: pve2, diskStorage: slow", nil, []string{
			"storage slow is not on pve2, which has local, tank: correct the storage in the inventory, or add it in Proxmox VE",
		}},
		"a bridge": {"networks: [{address: dhcp}]", "networks: [{address: dhcp, bridge: vmbr7}]", nil, []string{
			"host pve1 has no bridge vmbr7, or the token may not use it: correct the bridge in systems.yaml, or add it to the host",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := forSystems(emulatedConfig(schema.Release84))
			if test.alter != nil {
				test.alter(&config)
			}
			subject, _ := emulate(t, config)
			require.Equal(t, test.want, unsound(t, subject.Host, systemsOf(t, test.old, test.replacement)))
		})
	}
}

// TestTheStorageOfAnISO must take content of that type, while the ISO is in the drive of a machine.
func TestTheStorageOfAnISO(t *testing.T) {
	t.Parallel()
	const iso = "  - {name: firewall, vmid: 220, host: pve2, iso: opnsense, ejected: EJECTED, networks: [{}]}\n" +
		"isos: [{name: opnsense, url: \"https://images.example/opnsense.iso\", checksum: \"sha256:SUM\"}]\ncontainers:"
	config := forSystems(emulatedConfig(schema.Release91))
	for i := range config.Hosts {
		config.Hosts[i].Storages[0].Content = []string{lab.Import, lab.Template}
	}
	subject, _ := emulate(t, config)
	withISO := func(ejected string) *systems.Inventory {
		return systemsOf(t, "containers:", strings.Replace(iso, "EJECTED", ejected, 1))
	}
	require.Equal(t, []string{
		"storage local on pve2 does not take iso, only import,vztmpl: as root on the host: `pvesm set local --content import,vztmpl,iso`",
	}, unsound(t, subject.Host, withISO("false")))
	require.Empty(t, unsound(t, subject.Host, withISO("true")), "its drive is empty")

	maker := siteMaker()
	maker.Inventory.File.Storages = []hosts.Storage{{Name: "local", Content: []hosts.Content{hosts.ContentISO, hosts.ContentTemplate, hosts.ContentImport}}}
	report, err := preflight.Systems(t.Context(), preflight.SystemsSubject{Inventory: withISO("false"), Host: subject.Host, Makers: preflight.Makers{maker}})
	require.NoError(t, err)
	require.Len(t, report.Unsound(), 1)
	require.Equal(t, "run `em-infra up --stack site`, whose hosts.yaml has the storage local for iso", report.Unsound()[0].Remedy)
}

// withSnapshots is systemsYAML with snapshots of both systems.
func withSnapshots(t *testing.T) *systems.Inventory {
	t.Helper()
	return systemsOf(t, "name: home", "name: home\nsnapshots: {keep: 2}")
}

func TestSnapshotsOfSystemsThatAreNotThereYet(t *testing.T) {
	t.Parallel()
	subject, _ := emulate(t, forSystems(emulatedConfig(schema.Release91)))
	report, err := preflight.Systems(t.Context(), preflight.SystemsSubject{Inventory: withSnapshots(t), Host: subject.Host})
	require.NoError(t, err)
	require.Empty(t, report.Unsound())
	require.Equal(t, preflight.Check{Name: "snapshot", Result: preflight.OK, Sentence: "snapshots can be taken of 2 systems before changes"}, report[len(report)-1])
}

// TestATokenThatMayNotMakeSystems: what it lacks is found before the run, not in the middle of it.
func TestATokenThatMayNotMakeSystems(t *testing.T) {
	t.Parallel()
	for lacking, test := range map[string]struct{ old, replacement, want string }{
		"VM.Config.Cloudinit":        {"name: home", "name: home", "VM.Config.Cloudinit on /vms/9100, /vms/210: as root on the host, what `em-infra role` prints; it gives VM.Config.Cloudinit to ops@pve"},
		"VM.Config.Network":          {"name: home", "name: home", "VM.Config.Network on /vms/9100, /vms/210, /vms/211: as root on the host, what `em-infra role` prints; it gives VM.Config.Network to ops@pve"},
		"Datastore.AllocateTemplate": {"name: home", "name: home", "Datastore.AllocateTemplate on /storage/local: as root on the host: `pveum acl modify /storage/local --users ops@pve --roles EmInfraOperator`; what the role itself lacks, `em-infra role` tells"},
		"Sys.Modify":                 {"image: debian,", "image: debian, startup: {order: 1},", "Sys.Modify on /: as root on the host: `pveum acl modify / --users ops@pve --roles EmInfraOperator`; what the role itself lacks, `em-infra role` tells"},
	} {
		t.Run(lacking, func(t *testing.T) {
			t.Parallel()
			config := forSystems(emulatedConfig(schema.Release91))
			config.Tokens[0].Privileges = slices.DeleteFunc(config.Tokens[0].Privileges, func(name string) bool { return name == lacking })
			subject, _ := emulate(t, config)
			require.Contains(t, unsound(t, subject.Host, systemsOf(t, test.old, test.replacement)), "token ops@pve!k8s lacks "+test.want)
		})
	}
}

func TestATokenThatMayTakeNoSnapshots(t *testing.T) {
	t.Parallel()
	config := forSystems(emulatedConfig(schema.Release84))
	config.Tokens[0].Privileges = slices.DeleteFunc(config.Tokens[0].Privileges, func(name string) bool { return name == "VM.Snapshot" })
	subject, _ := emulate(t, config)
	require.Equal(t, []string{
		"token ops@pve!k8s lacks VM.Snapshot on /vms/210, /vms/211, without which no snapshot is taken before a change: " +
			"as root on the host: `pveum role modify EmInfraOperator --append 1 --privs \"VM.Snapshot\"`, or the same for the role that the token has there; " +
			"or take no snapshots: leave out snapshots in systems.yaml",
	}, unsound(t, subject.Host, withSnapshots(t)))
	require.Empty(t, unsound(t, subject.Host, systemsOf(t, "name: home", "name: home\nsnapshots: {keep: 0}")), "none are taken")
}

// TestStoragesThatTakeNoSnapshots: a raw file cannot have any, which the host reports for an existing system.
func TestStoragesThatTakeNoSnapshots(t *testing.T) {
	t.Parallel()
	config := forSystems(emulatedConfig(schema.Release91))
	for i := range config.Hosts {
		config.Hosts[i].Storages[0].Content = append(config.Hosts[i].Storages[0].Content, lab.Images)
	}
	subject, _ := emulate(t, config)
	client, err := subject.Host.Client()
	require.NoError(t, err)
	require.NoError(t, client.Post(t.Context(), "/nodes/pve1/qemu", map[string]any{"vmid": 210, "name": "tools", "description": "Made by em-infra for stack home.", "scsi0": "local:1"}, nil))
	require.Eventually(t, func() bool { return len(unsound(t, subject.Host, withSnapshots(t))) > 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{
		"a storage of tools (VM 210 on pve1) cannot take snapshots: set snapshots: {keep: 0} for tools; after that, its disks can be moved to a storage that can, such as ZFS, LVM-thin or Ceph",
	}, unsound(t, subject.Host, withSnapshots(t)))
}

// TestAStackOfHostsMakesWhatSystemsLack: then its run is the remedy, not a command on the host.
func TestAStackOfHostsMakesWhatSystemsLack(t *testing.T) {
	t.Parallel()
	config := forSystems(emulatedConfig(schema.Release84))
	for i := range config.Hosts {
		config.Hosts[i].Storages[0].Content = []string{lab.ISO, lab.Import}
	}
	subject, _ := emulate(t, config)
	maker := siteMaker()
	maker.Inventory.File.Storages = []hosts.Storage{{Name: "local", Content: []hosts.Content{hosts.ContentISO, hosts.ContentTemplate, hosts.ContentImport}}}
	maker.Inventory.File.Hosts[0].Network.Bridges[0].Name = "vmbr7"
	report, err := preflight.Systems(t.Context(), preflight.SystemsSubject{
		Inventory: systemsOf(t, "networks: [{address: dhcp}]", "networks: [{address: dhcp, bridge: vmbr7}]"), Host: subject.Host, Makers: preflight.Makers{maker},
	})
	require.NoError(t, err)
	var remedies []string
	for _, check := range report {
		if check.Result == preflight.Fail {
			remedies = append(remedies, check.Remedy)
		}
	}
	require.Equal(t, []string{
		"run `em-infra up --stack site`, whose hosts.yaml has the bridge vmbr7 of pve1",
		"run `em-infra up --stack site`, whose hosts.yaml has the storage local for vztmpl",
	}, remedies)
}

// TestVMIDsOfSystems: a guest is ours if its description says so, regardless of its name, or if the description says nothing and the state knows
// the guest. A name proves nothing: a machine that was made by hand, or by a copy of the stack, can have it.
func TestVMIDsOfSystems(t *testing.T) {
	t.Parallel()
	const lost = ", which the state does not know, and whose description does not say that this stack has made it: " +
		"put the state that knows it back with `em-infra state restore`; or give tools another vmid in systems.yaml"
	for name, test := range map[string]struct {
		guest map[string]any
		knows []int
		want  []string
	}{
		"ours, renamed by hand":          {map[string]any{"vmid": 210, "name": "renamed", "description": "Made by em-infra for stack home."}, nil, nil},
		"another's of our name":          {map[string]any{"vmid": 210, "name": "tools"}, nil, []string{"VMID 210 of tools is taken by VM 210 (tools on pve1)" + lost}},
		"ours, with another description": {map[string]any{"vmid": 210, "name": "tools", "description": "the old one"}, []int{210}, nil},
		"that of a copy of the stack": {
			map[string]any{"vmid": 210, "name": "tools", "description": "Made by em-infra for stack copy."}, []int{210},
			[]string{"VMID 210 of tools is taken by VM 210 (tools on pve1), which belongs to stack copy: this stack's state is a copy of that one's, or that one was renamed: " +
				"work on stack copy, or, after a rename, take it back with `pulumi stack rename --stack home copy`"},
		},
		"that of another stack": {
			map[string]any{"vmid": 210, "name": "tools", "description": "Made by em-infra for stack other."}, nil,
			[]string{"VMID 210 of tools is taken by VM 210 (tools on pve1), which belongs to stack other: give tools another vmid in systems.yaml"},
		},
		"a machine in place of a container": {
			map[string]any{"vmid": 211, "name": "pihole"}, nil,
			[]string{"VMID 211 of pihole is taken by VM 211 (pihole on pve1): give pihole another vmid in systems.yaml"},
		},
		"another's in place of a template": {
			map[string]any{"vmid": 9100, "name": "debian", "template": 1}, nil,
			[]string{"VMID 9100 of debian is taken by template 9100 (debian on pve1): give debian another vmid in systems.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, host := withGuest(t, test.guest)
			require.Equal(t, test.want, unsoundOf(t, preflight.SystemsSubject{Inventory: inv, Host: host, Stack: "home", Knows: test.knows}))
		})
	}
}

// withGuest returns systemsYAML and its hosts, with a guest on the first.
func withGuest(t *testing.T, guest map[string]any) (*systems.Inventory, pve.Connection) {
	t.Helper()
	subject, _ := emulate(t, forSystems(emulatedConfig(schema.Release84)))
	client, err := subject.Host.Client()
	require.NoError(t, err)
	require.NoError(t, client.Post(t.Context(), "/nodes/pve1/qemu", guest, nil))
	reader, err := pve.NewReader(subject.Host)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		guests, err := reader.Guests(t.Context())
		return err == nil && len(guests) == 1 && guests[0].Lock == "" && guests[0].Name == guest["name"]
	}, time.Minute, 10*time.Millisecond)
	return systemsOf(t, "name: home", "name: home"), subject.Host
}

// TestAnImageThatDoesNotFitIntoAMachine: the provider would find that out when the clone is there.
func TestAnImageThatDoesNotFitIntoAMachine(t *testing.T) {
	t.Parallel()
	sum := string(systemsOf(t, "name: home", "name: home").File.Images[0].Checksum)
	template := map[string]any{"vmid": 9100, "name": "debian", "description": "Made by em-infra from https://images.example/debian.qcow2, " + sum + ".", "scsi0": "tank:10"}
	inv, host := withGuest(t, template)
	subject := preflight.SystemsSubject{Inventory: inv, Host: host, Stack: "home"}
	require.Equal(t, []string{"the disk of tools has 8 GiB, and the image debian needs 10 GiB: set diskGiB of tools to 10 or more"}, unsoundOf(t, subject))
	subject.Inventory = systemsOf(t, "image: debian,", "image: debian, diskGiB: 10,")
	require.Empty(t, unsoundOf(t, subject))
	subject.Inventory = systemsOf(t, "sha256:SUM", "sha256:"+strings.Repeat("1", 64))
	require.Empty(t, unsoundOf(t, subject), "another image replaces the template before a machine is cloned")
}

// holdsCreations keeps the tasks that create machines waiting.
type holdsCreations struct{ end chan struct{} }

func (*holdsCreations) Call(context.Context, proxmox.Call) error { return nil }
func (*holdsCreations) Lost(proxmox.Call) bool                   { return false }
func (*holdsCreations) Lag(proxmox.TaskInfo, proxmox.Effect) time.Duration {
	return 0
}

func (h *holdsCreations) Step(ctx context.Context, task proxmox.TaskInfo, _ proxmox.Step) error {
	if task.Type != "qmcreate" {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-h.end:
		return nil
	}
}

// TestASystemThatIsBeingMade is left to the run, which waits for what an interrupted one has begun, or takes it away.
func TestASystemThatIsBeingMade(t *testing.T) {
	t.Parallel()
	held := &holdsCreations{end: make(chan struct{})}
	t.Cleanup(func() { close(held.end) })
	config := forSystems(emulatedConfig(schema.Release84))
	config.Faults = held
	subject, _ := emulate(t, config)
	client, err := subject.Host.Client()
	require.NoError(t, err)
	for _, vmid := range []int{9100, 210} {
		require.NoError(t, client.Post(t.Context(), "/nodes/pve1/qemu", map[string]any{"vmid": vmid, "name": "any", "scsi0": "tank:1"}, nil))
	}
	reader, err := pve.NewReader(subject.Host)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		guests, err := reader.Guests(t.Context())
		return err == nil && len(guests) == 2 && guests[0].Lock == "create" && guests[1].Lock == "create"
	}, time.Minute, 10*time.Millisecond)
	const remedy = ", which a run before may have begun: if no run of this stack was cut off, see its task in Proxmox VE, and choose another VMID"
	require.Equal(t, []string{
		"VM 9100 on pve1 is being made; it is taken for debian" + remedy, "VM 210 on pve1 is being made; it is taken for tools" + remedy,
	}, unsound(t, subject.Host, systemsOf(t, "name: home", "name: home")))
}

// unsound returns the checks that are not ok, with their remedies.
func unsound(t *testing.T, host pve.Connection, inv *systems.Inventory) []string {
	t.Helper()
	return unsoundOf(t, preflight.SystemsSubject{Inventory: inv, Host: host, Stack: "home"})
}

func unsoundOf(t *testing.T, subject preflight.SystemsSubject) []string {
	t.Helper()
	report, err := preflight.Systems(t.Context(), subject)
	require.NoError(t, err)
	var sentences []string
	for _, check := range report.Unsound() {
		sentences = append(sentences, check.Sentence+": "+check.Remedy)
	}
	return sentences
}
