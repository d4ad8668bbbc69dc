package proxmox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// A template that stands in for one on the internet.
const (
	templateFile      = "debian-12-standard_12.7-1_amd64.tar.zst"
	templateURL       = "https://images.example/" + templateFile
	containerTemplate = "local:vztmpl/" + templateFile
)

// holdsContainers makes the first host hold containers and their templates.
func holdsContainers(c *proxmox.Config) {
	c.Hosts[0].Storages[0].Content = []string{storage.ISO, storage.Template}
	c.Hosts[0].Storages[1].Content = []string{storage.Images, storage.RootDir}
	c.Hosts[0].Storages[2].Content = []string{storage.Images, storage.RootDir}
	c.StandIns = func(url string) (proxmox.StandIn, bool) { return proxmox.StandIn{Bytes: 120 << 20}, url == templateURL }
}

// newContainerLab starts a lab that can hold containers, with a template.
func newContainerLab(t *testing.T, change func(*proxmox.Config)) *lab {
	t.Helper()

	l := newLab(t, func(c *proxmox.Config) {
		holdsContainers(c)

		if change != nil {
			change(c)
		}
	})
	l.must(http.MethodPost, downloads, values("content=vztmpl filename="+templateFile+" url="+templateURL))

	return l
}

func (l *lab) container(vmid string) map[string]any {
	l.t.Helper()

	var c map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/lxc/"+vmid+"/config", nil, &c)
	delete(c, "digest")

	return c
}

func (l *lab) containerStatus(vmid string) string {
	l.t.Helper()

	var st struct{ Status string }

	l.ok(http.MethodGet, "/nodes/vmhost/lxc/"+vmid+"/status/current", nil, &st)

	return st.Status
}

// TestLifeOfAContainer follows a container from its template to its end, with the provider's calls.
func TestLifeOfAContainer(t *testing.T) {
	t.Parallel()

	l := newContainerLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 ostemplate="+containerTemplate+" storage=tank rootfs=tank:8 hostname=dns "+
		"net0=name=eth0,bridge=vmbr0,hwaddr=bc:24:11:00:00:02,ip=192.168.20.5/24,gw=192.168.20.1 nameserver=1.1.1.1,9.9.9.9 "+
		"arch=amd64 cores=1 cpuunits=1024 memory=512 swap=0 features=nesting=1 ostype=debian onboot=1 startup=order=1 tags=b;a "+
		"unprivileged=1 password=secret ssh-public-keys=ssh-ed25519 cmode=tty console=1 tty=2 template=0 protection=0 start=1"))
	require.Equal(t, "running", l.containerStatus("200"))
	require.Equal(t, map[string]any{
		"arch": "amd64", "cmode": "tty", "console": float64(1), "cores": float64(1), "cpuunits": float64(1024), "features": "nesting=1",
		"hostname": "dns", "memory": float64(512), "nameserver": "1.1.1.1 9.9.9.9",
		"net0":   "name=eth0,bridge=vmbr0,gw=192.168.20.1,hwaddr=bc:24:11:00:00:02,ip=192.168.20.5/24,type=veth",
		"onboot": float64(1), "ostype": "debian", "protection": float64(0), "rootfs": "tank:subvol-200-disk-0,size=8G",
		"startup": "order=1", "swap": float64(0), "tags": "a;b", "template": float64(0), "tty": float64(2), "unprivileged": float64(1),
	}, l.container("200"), "neither password nor keys are kept")
	require.Equal(t, []string{"vmhost/local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "vmhost/tank:subvol-200-disk-0"}, l.server.Volumes())

	l.ok(http.MethodPut, "/nodes/vmhost/lxc/200/config", values("cores=2 memory=1024 cmode=shell tags=c description=x"), nil)
	require.Equal(t, "x\n", l.container("200")["description"], "unlike that of a VM, it ends with a line feed")
	require.Equal(t, "shell", l.container("200")["cmode"], "what waits for a start is shown")

	var now map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/lxc/200/config", values("current=1"), &now)
	require.Equal(t, "tty", now["cmode"])
	require.Equal(t, float64(1024), now["memory"], "limits change at once")

	l.must(http.MethodPost, "/nodes/vmhost/lxc/200/status/reboot", values("timeout=300"))
	l.ok(http.MethodGet, "/nodes/vmhost/lxc/200/config", values("current=1"), &now)
	require.Equal(t, "shell", now["cmode"])

	l.must(http.MethodPut, "/nodes/vmhost/lxc/200/resize", values("disk=rootfs size=10G"))
	require.Equal(t, "tank:subvol-200-disk-0,size=10G", l.container("200")["rootfs"])

	var listed []struct {
		ID, Name, Status, Type string
		VMID                   int
	}

	l.ok(http.MethodGet, "/cluster/resources", values("type=vm"), &listed)
	require.Len(t, listed, 1)
	require.Equal(t, "lxc/200", listed[0].ID)
	require.Equal(t, "dns", listed[0].Name)

	require.Equal(t, "unable to destroy CT 200 - container is running", trimmed(l.do(http.MethodDelete, "/nodes/vmhost/lxc/200/", nil).Message))
	l.must(http.MethodPost, "/nodes/vmhost/lxc/200/status/shutdown", values("forceStop=1 timeout=60"))
	require.Equal(t, "stopped", l.containerStatus("200"))
	l.must(http.MethodDelete, "/nodes/vmhost/lxc/200/", nil)
	require.Equal(t, "500 Configuration file 'nodes/vmhost/lxc/200.conf' does not exist",
		l.do(http.MethodGet, "/nodes/vmhost/lxc/200/status/current", nil).Status)
	require.Len(t, l.server.Volumes(), 1, "only the template stays")
}

func TestRefusedContainers(t *testing.T) {
	t.Parallel()

	l := newContainerLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 storage=tank protection=1 ostemplate="+containerTemplate))
	require.Equal(t, "tank:subvol-200-disk-0,size=4G", l.container("200")["rootfs"])
	require.Equal(t, "CT200", l.container("200")["hostname"])

	for params, want := range map[string]string{
		"vmid=101 storage=tank":                                      "VM 101 already exists on node 'vmhost'",
		"vmid=200 storage=tank":                                      "CT 200 already exists on node 'vmhost'",
		"vmid=201 storage=tank mp0=tank:1,mp=/data":                  "mount points configured, but 'rootfs' not set - aborting",
		"vmid=201 storage=tank features=nesting=1,keyctl=1":          "Permission check failed (changing feature flags (except nesting) is only allowed for root@pam)",
		"vmid=201 storage=tank features=nesting=1,keyctl=0":          "Permission check failed (changing feature flags (except nesting) is only allowed for root@pam)",
		"vmid=201 rootfs=tank:4 mp0=/mnt/data,mp=/data":              "Permission check failed (mount point type bind is only allowed for root@pam)",
		"vmid=201 storage=tank dev0=/dev/dri/card0":                  "Permission check failed (configuring device passthrough is only allowed for root@pam)",
		"vmid=201 storage=tank net0=name=eth0,bridge=vmbr0 pool=dns": "Permission check failed (pool 'dns' does not exist)",
	} {
		got := l.do(http.MethodPost, "/nodes/vmhost/lxc", values(params+" ostemplate="+containerTemplate))
		require.Equal(t, want, trimmed(got.Message), "%s: %v", params, got.Errors)
	}

	require.Equal(t, map[string]string{"storage": "storage 'nas' does not support container directories"},
		l.do(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=201 storage=nas ostemplate="+containerTemplate)).Errors)
	require.Equal(t, "CT 200 already exists on node 'vmhost'",
		trimmed(l.do(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 storage=tank ostemplate="+containerTemplate)).Message))
	require.Equal(t, "unable to create VM 200 - CT 200 already exists on node 'vmhost'",
		trimmed(l.do(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=200")).Message))
	require.Equal(t, map[string]string{"vmid": "VM 200 already exists"}, l.do(http.MethodGet, "/cluster/nextid", values("vmid=200")).Errors)
	require.Equal(t, "can't remove CT 200 - protection mode enabled", trimmed(l.do(http.MethodDelete, "/nodes/vmhost/lxc/200", nil).Message))
	require.Equal(t, "unable to shrink disk size",
		trimmed(l.do(http.MethodPut, "/nodes/vmhost/lxc/200/resize", values("disk=rootfs size=1G")).Message))
	require.Equal(t, "CT 200 not running", trimmed(l.do(http.MethodPost, "/nodes/vmhost/lxc/200/status/stop", nil).Message))
	require.Equal(t, "unable to create CT 202 - volume 'local:vztmpl/gone.tar.gz' does not exist",
		l.task(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=202 storage=tank ostemplate=local:vztmpl/gone.tar.gz")))
	require.False(t, slices.Contains(l.server.Volumes(), "vmhost/tank:subvol-202-disk-0"))
}

func TestSnapshotsOfAContainer(t *testing.T) {
	t.Parallel()

	l := newContainerLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 storage=tank start=1 ostemplate="+containerTemplate))
	l.must(http.MethodPost, "/nodes/vmhost/lxc/200/snapshot", values("snapname=before description=x"))
	l.ok(http.MethodPut, "/nodes/vmhost/lxc/200/config", values("memory=2048"), nil)
	require.Equal(t, "snapshot name 'before' already used", l.task(http.MethodPost, "/nodes/vmhost/lxc/200/snapshot", values("snapname=before")))

	var list []struct{ Name, Description, Parent string }

	l.ok(http.MethodGet, "/nodes/vmhost/lxc/200/snapshot", nil, &list)
	require.Len(t, list, 2)
	require.Equal(t, "x", list[0].Description)
	require.Equal(t, "before", list[1].Parent)

	l.must(http.MethodPost, "/nodes/vmhost/lxc/200/snapshot/before/rollback", values("start=1"))
	require.Equal(t, float64(512), l.container("200")["memory"])
	require.Equal(t, "running", l.containerStatus("200"))

	l.must(http.MethodDelete, "/nodes/vmhost/lxc/200/snapshot/before", nil)
	require.NotContains(t, l.container("200"), "parent")
	require.Equal(t, "snapshot 'before' does not exist", l.task(http.MethodDelete, "/nodes/vmhost/lxc/200/snapshot/before", nil))
}

// TestContainersStartWithTheirHost checks that containers outlive a power cut, and that only those with onboot start
// with their host.
func TestContainersStartWithTheirHost(t *testing.T) {
	t.Parallel()

	l := newContainerLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 storage=tank onboot=1 start=1 startup=order=2,up=0 ostemplate="+containerTemplate))
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=201 storage=tank start=1 ostemplate="+containerTemplate))
	require.NoError(t, l.server.PowerCut())
	polltest.Until(t, func() bool {
		r, err := l.try(t.Context(), l.token, http.MethodGet, "/nodes/vmhost/lxc/200/status/current", nil)
		return err == nil && strings.Contains(string(r.Data), `"status":"running"`)
	})
	require.Equal(t, "stopped", l.containerStatus("201"))
}

// TestOtherPeoplesClientOfContainers uses an independent client.
func TestOtherPeoplesClientOfContainers(t *testing.T) {
	t.Parallel()

	l := newContainerLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
	ctx := t.Context()
	id, secret, _ := strings.Cut(l.token, "=")
	c := client.NewClient(l.base+"/api2/json", client.WithHTTPClient(l.http), client.WithAPIToken(id, secret))

	do := func(task *client.Task, err error) {
		t.Helper()
		require.NoError(t, err)
		require.NoError(t, task.Wait(ctx, time.Millisecond, eventually))
		require.True(t, task.IsSuccessful, task.ExitStatus)
	}

	host, err := c.Node(ctx, "vmhost")
	require.NoError(t, err)
	do(host.NewContainer(ctx, 200,
		client.ContainerOption{Name: "ostemplate", Value: containerTemplate},
		client.ContainerOption{Name: "rootfs", Value: "tank:4"},
		client.ContainerOption{Name: "hostname", Value: "dns"},
		client.ContainerOption{Name: "net0", Value: "name=eth0,bridge=vmbr0,ip=dhcp"},
	))

	list, err := host.Containers(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)

	ct, err := host.Container(ctx, 200)
	require.NoError(t, err)
	require.Equal(t, "dns", ct.Name)
	require.Equal(t, "stopped", ct.Status)
	do(ct.Start(ctx))
	do(ct.NewSnapshot(ctx, "before"))
	do(ct.Resize(ctx, "rootfs", "+2G"))
	do(ct.Reboot(ctx))

	require.NoError(t, ct.Ping(ctx))
	require.Equal(t, "running", ct.Status)
	require.Equal(t, uint64(6<<30), ct.MaxDisk)
	do(ct.Stop(ctx))
	do(ct.Delete(ctx, nil))

	_, err = host.Container(ctx, 200)
	require.ErrorContains(t, err, "Configuration file 'nodes/vmhost/lxc/200.conf' does not exist")
}
