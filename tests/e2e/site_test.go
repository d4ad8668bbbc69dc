package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
)

// TestE2ESite is the life of a project with the stacks of two layers, the samples, on one lab: it is brought up layer by layer and destroyed from the
// top, fails in the second layer, continues from there, and is unchanged by another run.
func TestE2ESite(t *testing.T) {
	t.Parallel()
	s := newSite(t, "site-hosts", "site-systems")
	require.Contains(t, s.site(3, "preview", "--lab"), "is rehearsed yet: bring the site up on a lab with `")
	up := s.site(0, "up", "--lab", "--time-scale", "0", "--yes")
	require.Contains(t, up, "site-hosts    hosts    up\nsite-systems  systems  up\n")
	s.site(0, "destroy", "--lab", "--yes")

	s.stack("site-hosts").edit("hosts.yaml", "content: [iso, vztmpl, import]", "content: [iso, vztmpl, import, snippets]")
	s.outsideOfStacks("lab", "fault", "set", "download-fails", "--stack", "site-systems")
	stopped := s.site(1, "up", "--lab", "--yes")
	require.Contains(t, stopped, "site-hosts    hosts    up\nsite-systems  systems  failed\nstopped at site-systems: do what its message says, then run `")
	require.Contains(t, stopped, "download failed")
	s.outsideOfStacks("lab", "fault", "clear", "--stack", "site-hosts")

	require.Contains(t, s.site(0, "up", "--lab", "--yes"), "site-hosts    hosts    up\nsite-systems  systems  up\n")
	require.Contains(t, s.site(0, "preview", "--lab"), "site-hosts    hosts    no changes\nsite-systems  systems  no changes\n")
	require.Contains(t, s.site(0, "status", "--lab"), "site-hosts    hosts    sound\nsite-systems  systems  sound\n")
	s.isOnOnePage()
	require.Contains(t, s.site(0, "destroy", "--lab", "--yes"), "site-systems  systems  gone\nsite-hosts    hosts    gone\n")
	s.isOnThePageWithoutALab()
}

// isOnOnePage looks at the picture and the page of a site that is sound.
func (s *siteUnderTest) isOnOnePage() {
	s.t.Helper()
	picture := filepath.Join(s.root, "site.svg")
	require.Contains(s.t, s.site(0, "graph", "--lab", "--out", picture), "drawn: ")
	for _, text := range []string{">host vmhost<", ">pihole<", ">vmbr1<", ">nas<", ">rtx3090<"} {
		require.Contains(s.t, s.read(picture), text)
	}
	require.Contains(s.t, s.site(0, "report", "--lab"), "written: .lab/site.html\n")
	page := s.read(filepath.Join(s.root, ".lab", "site.html"))
	require.Contains(s.t, page, `<p class="chip good">sound</p>`)
	require.Contains(s.t, page, "<title>pihole: container, running</title>")
	require.Regexp(s.t, `<th scope="row">site-systems</th><td data-label="Kind">systems</td><td data-label="Layer">2</td><td data-label="Status" class="good">sound</td><td data-label="Last run">preview .*, succeeded after `, page)
	description, err := lab.ReadDescription(s.stack("site-hosts").labDir())
	require.NoError(s.t, err)
	require.NotContains(s.t, page, description.Token)
}

// isOnThePageWithoutALab stops the lab: the stacks are still on the page, with the reason why nothing is known.
func (s *siteUnderTest) isOnThePageWithoutALab() {
	s.t.Helper()
	s.stopsItsLab()
	page := s.site(0, "report", "--lab", "--out", "-")
	require.Contains(s.t, page, `<p class="chip bad">2 of 2 stacks not sound</p>`)
	require.Equal(s.t, 2, strings.Count(page, `class="bad">refused</td>`))
	require.Contains(s.t, page, ">pihole<", "the picture needs no host")
}

// TestE2EAWholeSite is the site of the samples: hosts that are configured from nothing, storage on a NAS, systems, and two clusters, one of which is
// protected. Every stack's plain engine has nothing to do then, and a destroy leaves the site as it was.
func TestE2EAWholeSite(t *testing.T) {
	t.Parallel()
	extended(t)
	s := newSite(t, "k3s-dev", "k8s-prod", "site-hosts", "site-systems")
	s.isOneProxmoxVE()
	s.hostsMakeTheSharedStorage()
	s.k3sDevUsesTheNAS()
	s.k3sDevUsesTheDNS()

	before := s.isNotBegunWithoutConsent()
	up := s.site(0, "up", "--lab", "--yes")
	require.Contains(t, up, "site-hosts    hosts     up\nsite-systems  systems   up\nk3s-dev       platform  up\nk8s-prod      platform  up\n")
	s.stack("k3s-dev").nodesAreReady("k3s-dev-control-1", "k3s-dev-gpu-1", "k3s-dev-worker-1")
	s.stack("k8s-prod").nodesAreReady("k8s-prod-control-1", "k8s-prod-control-2", "k8s-prod-control-3", "k8s-prod-worker-1", "k8s-prod-worker-2")
	nas := storageUnderTest{s.stack("k3s-dev")}
	nas.hasItsNAS()
	s.hasNothingToDo("k3s-dev", "k8s-prod", "site-hosts", "site-systems")

	s.theDNSIsNeeded()
	refused := s.site(3, "destroy", "--lab", "--yes")
	require.Contains(t, refused, "k8s-prod      platform  refused\nk3s-dev       platform  not begun\n")
	s.stack("k8s-prod").edit("cluster.yaml", "protect: true", "protect: false")
	s.stack("k8s-prod").mustRun(0, "up", "--lab", "--yes")
	down := s.site(0, "destroy", "--lab", "--yes")
	require.Contains(t, down, "k8s-prod      platform  gone\nk3s-dev       platform  gone\nsite-systems  systems   gone\nsite-hosts    hosts     gone\n")
	require.Equal(t, before, s.onHosts())
	nas.leftOnlyData()
	require.NotContains(t, down, "kept: it has members")
}

// hostOfASite is a host as its installer leaves it.
const hostOfASite = `network: 192.168.20.0/24
hosts:
  - name: pve
    memoryGiB: 256
    storages:
      - {name: local, type: dir, content: [iso], sizeGiB: 96}
      - {name: local-lvm, type: lvmthin, content: [images, rootdir], sizeGiB: 2048}
    pci:
      - {address: "0000:01:00.0", vendor: "0x10de", device: "0x2204", subsystemVendor: "0x1462", subsystemDevice: "0x3881", iommuGroup: 12}
`

// TestE2EASiteFromAnEmptyFolder: a host that runs is asked what it has, once for each stack, and what init writes comes up as a site: the host, a
// container and a machine beside two clusters. A cluster gets the GPU by the name that the stack of hosts gives it, and datasets on a NAS, which is asked
// as well. Nothing is edited. A second run changes nothing, and a destroy leaves the host as it was.
func TestE2EASiteFromAnEmptyFolder(t *testing.T) {
	t.Parallel()
	extended(t)
	root := t.TempDir()
	real := &rehearsal{t: t, stack: "_real", root: root}
	description := real.startsLabOfItsOwn(hostOfASite)
	s := &siteUnderTest{&rehearsal{t: t, stack: "k3s-dev", root: root, lab: workspace.SharedLabName(pve.Origin(description.ProxmoxEndpoint()))}}
	box := truenastest.Serve(t).Connection
	s.env = []string{
		"EM_INFRA_PROXMOX_ENDPOINT=" + description.ProxmoxEndpoint(), "EM_INFRA_PROXMOX_TOKEN=" + description.Token, "EM_INFRA_PROXMOX_INSECURE=true",
		"EM_INFRA_TRUENAS_API_KEY=" + box.APIKey,
	}
	t.Cleanup(s.stopsItsLab)
	s.outsideOfStacks("init", "--kind", "hosts", "--stack", "site")
	require.Contains(t, s.read(filepath.Join(root, "stacks", "site", "hosts.yaml")), "name: gpu # 10de:2204")
	systems := s.outsideOfStacks("init", "--kind", "systems", "--stack", "dns", "--network", "192.168.20.0/24")
	require.Contains(t, systems, "up --stack site`, whose hosts.yaml has the storage local for import")
	require.Regexp(t, `site up --lab .*\n +.*up --stack site\n`, systems, "the stack of hosts comes first")
	s.outsideOfStacks("init", "--stack", "k3s-dev", "--network", "192.168.20.0/24", "--gpu-workers", "1", "--image-factory", description.FactoryURL(),
		"--nas", box.Endpoint, "--nas-fingerprint", box.Fingerprint)
	nodes := filepath.Join(root, "stacks", "k3s-dev", "nodes.yaml")
	require.Contains(t, s.read(nodes), "address: 192.168.20.13}", "the systems have the addresses before it")
	require.Contains(t, s.read(nodes), "gpus: [{mapping: gpu}]")
	s.outsideOfStacks("init", "--stack", "k8s-prod", "--network", "192.168.20.0/24", "--control-planes", "3", "--image-factory", description.FactoryURL())

	before := s.isNotBegunWithoutConsent()
	require.Contains(t, s.site(0, "up", "--lab", "--yes"), "site      hosts     up\ndns       systems   up\nk3s-dev   platform  up\nk8s-prod  platform  up\n")
	require.Contains(t, s.site(0, "preview", "--lab"), "site      hosts     no changes\ndns       systems   no changes\nk3s-dev   platform  no changes\nk8s-prod  platform  no changes\n")
	nas := storageUnderTest{s.stack("k3s-dev")}
	require.Contains(t, nas.mustRun(0, "preflight", "--lab"), "ok    2 datasets: 0 to create, 2 ours\n")
	s.hasNothingToDo("site", "dns", "k3s-dev", "k8s-prod")
	require.Contains(t, s.site(0, "destroy", "--lab", "--yes"), "k8s-prod  platform  gone\nk3s-dev   platform  gone\ndns       systems   gone\nsite      hosts     gone\n")
	require.Equal(t, before, s.onHosts())
	require.NotNil(t, nas.dataset("tank/k3s-dev"), "protect is true if it is not given")
	require.NotNil(t, nas.dataset("tank/k3s-dev/nfs"))
}

// stopsItsLab stops the lab of the site.
func (s *siteUnderTest) stopsItsLab() {
	if output, err := s.command(context.Background(), "lab", "stop", "--stack", s.rehearsal.stack).CombinedOutput(); err != nil {
		s.t.Errorf("lab stop: %v\n%s", err, output)
	}
}

// sharedLab is the name of the lab that the stacks of the site share, by their endpoint.
const sharedLab = "_vmhost-8006"

// siteUnderTest is a project with several stacks.
type siteUnderTest struct{ *rehearsal }

// newSite returns a project of its own with sample stacks, which share a lab.
func newSite(t *testing.T, stacks ...string) *siteUnderTest {
	t.Helper()
	skipIfShort(t)
	checkout, root := projectRoot(t), t.TempDir()
	s := &siteUnderTest{&rehearsal{t: t, stack: stacks[0], root: root, lab: sharedLab}}
	require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(s.read(filepath.Join(checkout, "Pulumi.yaml"))), 0o600))
	for _, stack := range stacks {
		name := "Pulumi." + stack + ".yaml"
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(s.read(filepath.Join(checkout, name))), 0o600))
		inventory := filepath.Join("stacks", stack)
		require.NoError(t, os.CopyFS(filepath.Join(root, inventory), os.DirFS(filepath.Join(checkout, inventory))))
	}
	t.Cleanup(s.stopsItsLab)
	return s
}

// stack returns a stack of the site, on the site's lab.
func (s *siteUnderTest) stack(name string) *rehearsal {
	return &rehearsal{t: s.t, stack: name, root: s.root, inventory: filepath.Join(s.root, "stacks", name), lab: s.lab}
}

// site runs a command on all stacks of the project.
func (s *siteUnderTest) site(code int, args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), runBound)
	defer cancel()
	command := s.command(ctx, append([]string{"site"}, args...)...)
	output, _ := command.CombinedOutput() // the exit code says how it ended
	require.Equal(s.t, code, command.ProcessState.ExitCode(), "%s", output)
	return string(output)
}

// isOneProxmoxVE writes the same endpoint into all stack files: the hosts of k8s-prod are of the same Proxmox VE.
func (s *siteUnderTest) isOneProxmoxVE() {
	file := filepath.Join(s.root, "Pulumi.k8s-prod.yaml")
	text := strings.Replace(s.read(file), "https://pve1:8006", "https://vmhost:8006", 1)
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
}

// hostsMakeTheSharedStorage has the stack of hosts make the NFS share that k8s-prod keeps its ISO on.
func (s *siteUnderTest) hostsMakeTheSharedStorage() {
	hosts := s.stack("site-hosts")
	text := hosts.inventoryText("hosts.yaml")
	names := "hosts:\n  - name: pve1\n  - name: pve2\n  - name: pve3\n"
	hosts.writeInventory("hosts.yaml", regexp.MustCompile(`(?m)^hosts:\n`).ReplaceAllLiteralString(text, names))
}

// k3sDevUsesTheNAS adds storage on a NAS to k3s-dev.
func (s *siteUnderTest) k3sDevUsesTheNAS() {
	dev := s.stack("k3s-dev")
	dev.edit("cluster.yaml", "extensions: []", "extensions: [siderolabs/iscsi-tools]")
	dev.writeInventory("cluster.yaml", dev.inventoryText("cluster.yaml")+storageOfTheTest)
}

// k3sDevUsesTheDNS makes the container of site-systems the nameserver of the nodes of k3s-dev.
func (s *siteUnderTest) k3sDevUsesTheDNS() {
	s.stack("k3s-dev").edit("cluster.yaml", "nameservers: [192.168.20.1]", "nameservers: [site-systems/pihole]")
}

// theDNSIsNeeded looks at what depends on the container: the nodes have its address, their stack does not come up without it, and it is not destroyed
// before them.
func (s *siteUnderTest) theDNSIsNeeded() {
	s.t.Helper()
	dev, systems := s.stack("k3s-dev"), s.stack("site-systems")
	require.Regexp(s.t, `^127\.\d+\.\d+\.5$`, dev.guestSetting("qemu/101", "nameserver"))
	require.Contains(s.t, dev.mustRun(0, "preflight", "--lab"), "the nameservers of the nodes run: pihole of stack site-systems")

	seen := len(systems.calls())
	refused := systems.mustRun(3, "destroy", "--lab", "--yes")
	require.Contains(s.t, refused, "the nodes of k3s-dev (k3s-dev-control-1, k3s-dev-worker-1, k3s-dev-gpu-1) use pihole of this stack as nameserver: take that cluster down first with `")
	require.Regexp(s.t, `destroy --stack k3s-dev --lab`, refused)
	require.Empty(s.t, writes(systems.calls()[seen:]))

	require.NoError(s.t, systems.api().Post(s.t.Context(), "/nodes/vmhost/lxc/211/status/stop", nil, nil))
	systems.eventually("it is stopped", func() bool { return strings.Contains(systems.run("status", "--lab").output, "it is stopped") })
	require.Contains(s.t, dev.mustRun(3, "up", "--lab", "--yes"), "nameserver pihole (container 211 of stack site-systems) is stopped")
	systems.mustRun(0, "up", "--lab", "--yes")
	dev.mustRun(0, "preflight", "--lab")
}

// TestE2ENameserverOfAnotherStack: a stack that is rehearsed alone needs no other stack. Preflight reports what is not there, and the command that
// rehearses both.
func TestE2ENameserverOfAnotherStack(t *testing.T) {
	t.Parallel()
	s := newSite(t, "k3s-dev", "site-systems")
	s.k3sDevUsesTheDNS()
	s.outsideOfStacks("lab", "start", "--stack", "k3s-dev")
	preflight := s.outsideOfStacks("preflight", "--stack", "k3s-dev", "--lab")
	require.Contains(t, preflight, "nameserver pihole of stack site-systems is not in this lab, which this stack has for itself")
	require.Regexp(t, `rehearse both stacks on one lab with .*site up --lab`, preflight)
	require.Contains(t, preflight, " 1 warning")
	require.Contains(t, s.outsideOfStacks("validate", "--stack", "k3s-dev", "--show"), "nameservers: [site-systems/pihole] # site-systems/pihole is 192.168.20.5\n")
}
