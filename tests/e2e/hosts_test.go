package e2e_test

import (
	"crypto/rand"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// TestE2EHosts is the life of a stack of hosts, the sample: it is made, with the commands for what no API does, and has nothing to do. It is changed
// by hand and mended. Changes that would cut the operator off, or carry out what another user has staged, are refused. Then it is destroyed.
func TestE2EHosts(t *testing.T) {
	t.Parallel()
	r := newHostsRehearsal(t, "e2e-hosts")

	r.mustRun(0, "lab", "start")
	before, storagesBefore, namesBefore := r.interfaces(), r.storages(), r.etcHosts()
	r.mustRun(0, "lab", "set-up", "vmhost", "--iommu", "off", "--driver", "0000:01:00.0=nouveau")
	output := r.mustRun(0, "up", "--lab", "--yes")
	r.isLeftToAPerson(output)
	require.Regexp(t, `(?m)^ provision +site-network-vmhost created `, output)
	require.Regexp(t, `(?m)^ provision +site-pool-k3s-dev created `, output)
	require.Contains(t, r.interfaces(), "vmbr1.30")
	require.Equal(t, "9000", r.interfaceSetting("eno2", "mtu"), "a card has the MTU of its bridge")
	require.Equal(t, []string{"rtx3090"}, r.mappings("pci"))
	require.Equal(t, []string{"zwave"}, r.mappings("usb"))
	require.Equal(t, "192.168.20.5", r.resolver()["dns1"])
	r.hasNothingToDo()
	r.isInAReport()

	r.accessIsManaged()
	r.hostDriftIsMended()
	r.keepsSecrets()
	r.stagedByAnotherUser()
	r.wayToTheAPIStays()

	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Equal(t, before, r.interfaces(), "what the stack made is gone, and what was there is as it was")
	require.NotContains(t, r.pools(), "k3s-dev")
	require.NotContains(t, r.users(), "backup@pve")
	require.Empty(t, r.definitions("backup"))
	require.Empty(t, r.definitions("metrics/server"))
	require.Equal(t, namesBefore, r.etcHosts(), "the names that were added are gone")
	require.Equal(t, "Europe/Berlin", r.timeZone(), "a host always has a time zone")
	require.Empty(t, r.mappings("pci"))
	require.Empty(t, r.mappings("usb"))
	require.Equal(t, "192.168.20.5", r.resolver()["dns1"], "a host always has a resolver")
	require.Equal(t, slices.Sorted(maps.Keys(storagesBefore)), slices.Sorted(maps.Keys(r.storages())), "what was there before stays")
}

// isInAReport looks at the page about the stack, whole and of its first run.
func (r *rehearsal) isInAReport() {
	r.t.Helper()
	require.Contains(r.t, r.mustRun(0, "report", "--lab"), "written: .lab/"+r.stack+"/artifacts/report.html\n")
	page := r.read(filepath.Join(r.dir(), "artifacts", "report.html"))
	for _, text := range []string{
		`<p class="chip good">sound</p>`, `<th scope="row">vmhost</th><td data-label="Status">online</td>`, ">vmbr1<", ">rtx3090<",
		"<p>Nothing: the hosts are as the inventory says.</p>", `<th scope="row">site-network-vmhost</th><td data-label="Operation">create</td>`,
	} {
		require.Contains(r.t, page, text)
	}
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	require.NotContains(r.t, page, description.Token)
}

// newHostsRehearsal returns an empty rehearsal with the sample's inventory of hosts.
func newHostsRehearsal(t testing.TB, stack string) *rehearsal {
	t.Helper()
	r := newRehearsal(t, stack)
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		require.NoError(t, os.Remove(filepath.Join(r.inventory, name)))
	}
	r.writeInventory("hosts.yaml", r.read(filepath.Join(r.root, "stacks", "site-hosts", "hosts.yaml")))
	return r
}

// byHandOnVMHost is what no API does on vmhost with its IOMMU off and its only graphics card in use: an AMD processor, GRUB.
const byHandOnVMHost = `         # no display is left to the host: its screen stays black from the
         # reboot on, so check first that you reach the host by SSH
         # vfio.conf is replaced: if this shows more IDs or options of vfio-pci,
         # add them to the new vfio.conf and remove them there:
         grep -rsE 'vfio[-_]pci' /etc/modprobe.d /proc/cmdline
         cp -a --backup=numbered /etc/modprobe.d/vfio.conf /etc/modprobe.d/vfio.conf.before 2>/dev/null || true
         echo 'options vfio-pci ids=10de:2204' > /etc/modprobe.d/vfio.conf
         echo 'softdep nouveau pre: vfio-pci' >> /etc/modprobe.d/vfio.conf
         echo 'softdep nvidiafb pre: vfio-pci' >> /etc/modprobe.d/vfio.conf
         update-initramfs -u -k all
         # at this reboot, in the firmware's set-up: turn on AMD-Vi (IOMMU)
         reboot
`

// isLeftToAPerson looks for the commands for vmhost in the output of up, in preview and in preflight. A person carries them out, and nothing is
// left.
func (r *rehearsal) isLeftToAPerson(output string) {
	r.t.Helper()
	_, end, found := strings.Cut(output, "left for you:\n")
	require.True(r.t, found, output)
	require.Contains(r.t, end, " warn  PCI 0000:01:00.0 on vmhost is in no IOMMU group")
	require.Contains(r.t, end, "run these commands on vmhost as root, which the API of Proxmox VE cannot do, then run `em-infra preflight --stack "+r.stack+" ")
	require.Contains(r.t, end, byHandOnVMHost, "after the run")
	for _, command := range []string{"preview", "preflight"} {
		require.Contains(r.t, r.mustRun(0, command, "--lab"), byHandOnVMHost, command)
	}

	r.mustRun(0, "lab", "set-up", "vmhost", "--iommu", "on", "--driver", "0000:01:00.0=vfio-pci")
	require.NotContains(r.t, r.mustRun(0, "preflight", "--lab"), " warn ")
	output = r.mustRun(0, "up", "--lab", "--yes")
	require.NotContains(r.t, output, "left for you")
	require.NotContains(r.t, output, "vfio")
	r.mustRun(3, "lab", "set-up", "vmhots", "--iommu", "off")
}

// hasNothingToDo previews with em-infra and with a plain engine, and runs up: nothing is written to the host.
func (r *rehearsal) hasNothingToDo() {
	r.t.Helper()
	seen := len(r.calls())
	r.mustRun(0, "preview", "--lab")
	stack := r.plainEngine()
	_, err := stack.Preview(r.t.Context(), optpreview.Refresh(), optpreview.ExpectNoChanges())
	require.NoError(r.t, err)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Empty(r.t, writes(r.calls()[seen:]), "a second up writes nothing")
}

// hostDriftIsMended changes by hand what hosts always have and what the cluster has defined: one drift shows all, with both values, and the next up
// puts back what the inventory says.
func (r *rehearsal) hostDriftIsMended() {
	r.t.Helper()
	require.Equal(r.t, []string{"nightly"}, r.definitions("backup"))
	require.Contains(r.t, r.etcHosts(), "10.30.0.5 nas.home.example nas\n")
	require.Equal(r.t, "import,iso,vztmpl", r.storages()["local"], "the one of the installer is adopted")
	for path, params := range map[string]map[string]string{
		"/nodes/vmhost/time": {"timezone": "UTC"}, "/cluster/options": {"keyboard": "fr"}, "/cluster/backup/nightly": {"all": "1"},
		"/storage/local": {"content": "iso"}, "/nodes/vmhost/dns": {"search": "home.example", "dns1": "192.168.20.1"},
	} {
		require.NoError(r.t, r.api().Put(r.t.Context(), path, params, nil))
	}
	require.NoError(r.t, r.api().Delete(r.t.Context(), "/storage/nas", nil))
	r.stage(http.MethodPut, "/vmbr1", map[string]string{"type": "bridge", "autostart": "1", "bridge_ports": "eno2", "bridge_vlan_aware": "1", "mtu": "1500"})
	require.NoError(r.t, r.api().Put(r.t.Context(), "/nodes/vmhost/network", nil, nil))
	r.eventually("the change is active", func() bool { return r.interfaceSetting("vmbr1", "mtu") == "1500" })

	output := r.mustRun(2, "drift", "--lab")
	for _, line := range []string{
		`settings of vmhost +settings +as in the inventory +time zone: UTC instead\s+of Europe/Berlin`,
		`options of the cluster +options +as in the inventory +keyboard: fr instead of\s+de`,
		`backup job nightly +settings +as in the inventory +pool: none instead of\s+k3s-dev`,
		`storage local +settings +as in the inventory +content: iso instead of\s+import,iso,vztmpl`,
		`storage nas +settings +as in the inventory +absent`,
		`dns-vmhost +servers\[0\] +192\.168\.20\.5 +192\.168\.20\.1`,
		`vmbr1: mtu: 1500\s+instead of 9000`,
	} {
		require.Regexp(r.t, line, output)
	}
	r.isPutBack()
}

// isPutBack runs up, which changes the network of the host by one reload after everything is staged.
func (r *rehearsal) isPutBack() {
	r.t.Helper()
	seen := len(r.calls())
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, "Europe/Berlin", r.timeZone())
	require.Equal(r.t, "import,iso,vztmpl", r.storages()["local"])
	require.Equal(r.t, "backup,images,iso", r.storages()["nas"])
	require.Equal(r.t, map[string]string{"search": "home.example", "dns1": "192.168.20.5", "dns2": "192.168.20.1"}, r.resolver())
	require.Equal(r.t, "9000", r.interfaceSetting("vmbr1", "mtu"))
	ofTheNetwork := slices.DeleteFunc(writes(r.calls()[seen:]), func(write string) bool { return !strings.Contains(write, "/nodes/vmhost/network") })
	require.Equal(r.t, len(ofTheNetwork)-1, slices.IndexFunc(ofTheNetwork, func(write string) bool {
		return strings.HasPrefix(write, "PUT ") && strings.HasSuffix(write, "/nodes/vmhost/network")
	}), "one reload, after everything is staged")
	r.mustRun(0, "drift", "--lab")
}

// keepsSecrets adds a metric server with a token, and a storage whose server asks for a password. Nothing that the run leaves has them in plain text.
func (r *rehearsal) keepsSecrets() {
	r.t.Helper()
	r.edit("hosts.yaml", "backupJobs:\n", "metricServers:\n  - {name: graphs, type: influxdb, server: 10.30.0.7, port: 8086, protocol: https, organization: home, bucket: proxmox}\nbackupJobs:\n")
	r.edit("hosts.yaml", "mappings:\n", "  - {name: backups, type: pbs, server: 10.30.0.6, datastore: main, username: backup@pbs, content: [backup]}\nmappings:\n")
	refusal := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(r.t, refusal, "lacks metricServers.graphs.token")
	require.Contains(r.t, refusal, "lacks storages.backups.password")
	token, password := rand.Text(), rand.Text()
	r.env = append(r.env, "EM_INFRA_METRIC_SERVER_TOKEN_GRAPHS="+token, "EM_INFRA_STORAGE_PASSWORD_BACKUPS="+password)
	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, []string{"graphs"}, r.definitions("metrics/server"))
	require.Contains(r.t, r.storages(), "backups")
	for _, secret := range []string{token, password} {
		require.NotContains(r.t, output, secret)
		for _, folder := range []string{"artifacts", "state", "backups"} {
			r.holdsNot(filepath.Join(r.dir(), folder), secret)
		}
	}
	r.mustRun(0, "preview", "--lab")
}

// definitions returns the IDs of backup jobs, or of metric servers.
func (r *rehearsal) definitions(of string) []string {
	r.t.Helper()
	var all []struct{ ID string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/cluster/"+of, &all))
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = one.ID
	}
	return ids
}

// etcHosts returns the text of /etc/hosts.
func (r *rehearsal) etcHosts() string {
	r.t.Helper()
	var file struct{ Data string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/hosts", &file))
	return file.Data
}

func (r *rehearsal) timeZone() string {
	r.t.Helper()
	var now struct{ TimeZone string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/time", &now))
	return now.TimeZone
}

// holdsNot searches the files of a folder for a secret in plain text.
func (r *rehearsal) holdsNot(folder, secret string) {
	r.t.Helper()
	files := 0
	require.NoError(r.t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path) //nolint:gosec // below the rehearsal's folder
		require.NotContains(r.t, string(text), secret, path)
		return err
	}))
	require.NotZero(r.t, files, folder)
}

// storages returns the content types of each storage.
func (r *rehearsal) storages() map[string]string {
	r.t.Helper()
	var all []struct{ Storage, Content string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/storage", &all))
	content := map[string]string{}
	for _, one := range all {
		content[one.Storage] = one.Content
	}
	return content
}

// mappings returns the names of the resource mappings of a kind of devices, pci or usb.
func (r *rehearsal) mappings(kind string) (names []string) {
	r.t.Helper()
	var all []struct{ ID string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/cluster/mapping/"+kind, &all))
	for _, one := range all {
		names = append(names, one.ID)
	}
	return names
}

// stagedByAnotherUser stages an interface by hand, which is neither applied nor reverted.
func (r *rehearsal) stagedByAnotherUser() {
	r.t.Helper()
	r.stage(http.MethodPost, "", map[string]string{"iface": "vmbr9", "type": "bridge"})
	r.edit("hosts.yaml", "mtu: 9000", "mtu: 8000")
	output := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(r.t, output, "another user has staged changes of the network of vmhost that are not this stack's (vmbr9), and nothing was touched")
	require.Contains(r.t, output, "+iface vmbr9 inet manual")
	require.Contains(r.t, r.interfaces(), "vmbr9", "it is still staged")
	require.NoError(r.t, r.api().Delete(r.t.Context(), "/nodes/vmhost/network", nil))
	r.edit("hosts.yaml", "mtu: 8000", "mtu: 9000")
}

// wayToTheAPIStays asks for a change of vmbr0, by which the API is reached: it is refused unless a flag names the interface.
func (r *rehearsal) wayToTheAPIStays() {
	r.t.Helper()
	r.edit("hosts.yaml", "    network:\n      bridges:\n", "    network:\n      bridges:\n        - {name: vmbr0, ports: [eno1], address: 192.168.20.10/24, gateway: 192.168.20.1, comment: management}\n")
	seen := len(r.calls())
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), "vmbr0 is on the way to the API (vmbr0 has the default route)")
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.mustRun(0, "up", "--lab", "--yes", "--allow-interface", "vmhost/vmbr0")
	require.Equal(r.t, "management", r.interfaceSetting("vmbr0", "comments"))
}

// accessIsManaged adds a role and a user: refused until root gives the token the right to, drift is mended, and no change locks the token out.
func (r *rehearsal) accessIsManaged() {
	r.t.Helper()
	r.writeInventory("hosts.yaml", r.inventoryText("hosts.yaml")+`access:
  roles: [{name: Backup, privileges: [VM.Audit, VM.Backup]}]
  users: [{id: backup@pve, permissions: [{path: /vms, role: Backup}], tokens: [{name: nightly, permissions: [{path: /vms, role: Backup}]}]}]
`)
	const privileges = "Realm.AllocateUser User.Modify Permissions.Modify"
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), `--append 1 --privs "`)
	root := r.asRoot()
	require.NoError(r.t, root.Put(r.t.Context(), "/access/roles/"+role.Name, map[string]string{"append": "1", "privs": strings.ReplaceAll(privileges, " ", ",")}, nil))
	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, output, "roles Backup")
	token := regexp.MustCompile(`backup@pve!nightly=[0-9a-f-]{36}`).FindString(r.mustRun(0, "outputs", "proxmoxTokens", "--show-secrets", "--lab"))
	require.NotEmpty(r.t, token)
	_, secret, _ := strings.Cut(token, "=")
	require.NotContains(r.t, output, secret)
	for _, folder := range []string{"artifacts", "state", "backups"} {
		r.holdsNot(filepath.Join(r.dir(), folder), secret)
	}
	r.hasNothingToDo()

	require.NoError(r.t, root.Delete(r.t.Context(), "/access/users/backup@pve", nil))
	require.Regexp(r.t, `(?s)access +roles, groups, +as in the inventory +user backup@pve is.+token +settings and +as in the inventory +token`, r.mustRun(2, "drift", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, r.users(), "backup@pve")
	require.NotContains(r.t, r.mustRun(0, "outputs", "proxmoxTokens", "--show-secrets", "--lab"), secret, "its token went with the user, and is made anew")

	inventory, seen := r.inventoryText("hosts.yaml"), len(r.calls())
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	user, _, _ := strings.Cut(description.Token, "!")
	r.writeInventory("hosts.yaml", strings.Replace(inventory, "users: [", "users: [{id: "+user+", enabled: false}, ", 1))
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), "the changes of access would take from the token "+user+"!")
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.writeInventory("hosts.yaml", inventory)
}

// users returns the users of the hosts.
func (r *rehearsal) users() (ids []string) {
	r.t.Helper()
	var all []struct{ UserID string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/access/users", &all))
	for _, one := range all {
		ids = append(ids, one.UserID)
	}
	return ids
}

// resolver returns the resolver of the host.
func (r *rehearsal) resolver() map[string]string {
	r.t.Helper()
	settings := map[string]string{}
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/dns", &settings))
	return settings
}

// stage changes what is staged of the network of the host, as the web interface does.
func (r *rehearsal) stage(verb, rest string, params map[string]string) {
	r.t.Helper()
	path := "/nodes/vmhost/network" + rest
	if verb == http.MethodPost {
		require.NoError(r.t, r.api().Post(r.t.Context(), path, params, nil))
		return
	}
	require.NoError(r.t, r.api().Put(r.t.Context(), path, params, nil))
}

// interfaces returns the names of the host's interfaces with what is staged, sorted.
func (r *rehearsal) interfaces() []string {
	r.t.Helper()
	var all []struct {
		Name string `json:"iface"`
	}
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/network", &all))
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	slices.Sort(names)
	return names
}

// interfaceSetting returns a setting of an interface, by its name in the API.
func (r *rehearsal) interfaceSetting(name, setting string) any {
	r.t.Helper()
	var settings map[string]any
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/network/"+name, &settings))
	return settings[setting]
}
