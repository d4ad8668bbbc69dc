package proxmox_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// A remedy is a command of a Proxmox VE host that this project recommends in an explanation, a finding, an error or a page.
type remedy struct {
	// texts are the command as it is written there, with its verbs and placeholders.
	texts []string
	// works causes the problem in a lab, runs the command, and checks that the problem is solved.
	works func(t *testing.T)
	// elsewhere is why no lab can run it.
	elsewhere string
}

var remedies = []remedy{
	{texts: []string{
		"qm unlock {vmid}", "qm unlock VMID", "qm unlock %[1]d", "qm unlock %d", "qm unlock",
	}, works: unlockAVM},
	{texts: []string{"qm stop {vmid}", "qm stop VMID", "qm stop"}, works: stopAVM},
	{texts: []string{"qm reboot %d"}, works: rebootAVM},
	{texts: []string{"qm reset VMID", "qm reset %d", "qm reset %[1]d", "qm reset"}, works: resetAVM},
	{texts: []string{"qm set VMID --ide0 none,media=cdrom", "qm set %d --%s none,media=cdrom", "qm set %[3]d --%[1]s none,media=cdrom", "qm set %[3]s --ide0 none,media=cdrom"}, works: takeTheISOOut},
	{texts: []string{"qm set {vmid} --protection 0"}, works: unprotectAVM},
	{texts: []string{"qm set {vmid} --agent 0"}, works: turnTheAgentOff},
	{texts: []string{"qm set VMID --citype nocloud", "qm set %d --citype nocloud"}, works: nameTheFormat},
	{texts: []string{
		"qm destroy", "qm destroy VMID --purge", "qm destroy {vmid} --purge", "qm destroy %d --purge", "qm stop VMID && qm destroy VMID --purge", "qm stop %[1]d && qm destroy %[1]d --purge",
	}, works: destroyAVM},
	{texts: []string{"pct destroy {vmid} --purge", "pct destroy %d --purge", "pct destroy %[1]d --purge"}, works: destroyAContainer},
	{texts: []string{"qm rollback %d %s", "qm rollback 210 NAME", "pct rollback %d %s", "pct rollback 211 NAME"}, works: goBackToASnapshot},
	{texts: []string{"qm delsnapshot %[3]d %[1]s", "qm delsnapshot %d NAME"}, works: removeSnapshots},
	{texts: []string{"pct resize"}, works: growARoot},
	{texts: []string{"pct set %d --onboot %s"}, works: startAContainerAtBoot},
	{texts: []string{"pct set %d --delete features", "pct set %v --delete features"}, works: switchNestingOff},
	{texts: []string{"qm disk unlink %d --idlist %s --force", "pvesm free ", "pvesm free %s", "pvesm free local:iso/FILE"}, works: removeWhatIsUnused},
	{texts: []string{"ha-manager remove vm:{vmid}"}, works: takeAVMFromTheHAManager},
	{texts: []string{"pveum pool add {pool}", "pveum pool add %[1]s", "pveum pool delete %[1]s"}, works: makeAndDeleteAPool},
	{texts: []string{
		"pveum acl modify {path} --users USER@REALM --roles PVESDNUser", "pveum acl modify %s --users %s --roles %s",
	}, works: givePermissionOnAPath},
	{texts: []string{
		"pveum role %s %s --privs \"%s\"", "pveum user add ", "pveum acl modify / --users ", "pveum user token add %s %s --privsep 0",
		"pveum user token add",
	}, works: makeTheToken},
	{texts: []string{"pveum user token remove", "pveum user token remove %s %s"}, works: removeTheToken},
	{texts: []string{
		"pveum role modify %s --append 1 --privs \"%s\"", "pveum role modify ROLE --append 1 --privs \"%s\"", "pveum acl modify / --tokens '%s' --roles %s",
	}, works: repairTheToken},
	{texts: []string{"pvesh get /nodes/HOST/tasks --source active", "pvesh get /nodes/%s/tasks --source active", "pvesm status", "pveum role list"}, works: look},
	{texts: []string{"pvesm set %s --content %s,%s", "pvesm set %s --content %s", "pvesm set"}, works: letAStorageTakeMore},
	{texts: []string{"pvesm remove %[1]s"}, works: removeAStorage},

	{texts: []string{"qm resume %d"}, elsewhere: "no machine of the lab is ever paused"},
	{texts: []string{"qm set"}, elsewhere: "it stands for any setting that only root may set, which no token can"},
	{texts: []string{"pvesm scan nfs %s"}, elsewhere: "it asks a server on the network, and the lab has none"},
	{texts: []string{"qm delsnapshot %d %s --force", "pct delsnapshot %d %s --force"}, elsewhere: "the lab does not keep in which step a snapshot was when its host crashed"},
	{texts: []string{"pct set %d --features '%s'"}, elsewhere: "only root itself sets features other than nesting, and the lab's commands are those of a token"},
	{texts: []string{"pct unlock %d", "pct unlock %[1]d"}, elsewhere: "root does it at the console of a host, and the lab has that of machines only"},
	{texts: []string{"pvecm status", "pvecm expected"}, elsewhere: "the lab's hosts always have a quorum"},
	{texts: []string{"pveum passwd USER"}, elsewhere: "it asks for the password on its terminal"},
	{texts: []string{"pvenode acme"}, elsewhere: "the lab gets no certificates from others"},
}

func TestEveryRemedyThatTheLabCanRunWorks(t *testing.T) {
	t.Parallel()
	for _, r := range remedies {
		t.Run(r.texts[0], func(t *testing.T) {
			t.Parallel()
			if r.works == nil {
				require.NotEmpty(t, r.elsewhere)
				t.Skip(r.elsewhere)
			}
			r.works(t)
		})
	}
}

// TestEveryRemedyIsKnown fails for a new host command in the sources or the documentation that has no test yet.
func TestEveryRemedyIsKnown(t *testing.T) {
	t.Parallel()
	found := hostCommandsOfSources(t)
	for command, place := range hostCommandsOfPages(t) {
		found[command] = place
	}
	require.Greater(t, len(found), 15, "the sources are read")
	var known []string
	for _, r := range remedies {
		known = append(known, r.texts...)
	}
	for command, place := range found {
		require.True(t, slices.ContainsFunc(known, func(text string) bool { return stands(text, command) }),
			"%s tells people to run %q: add it to remedies with a test that runs it", place, command)
	}
	for _, text := range known {
		require.True(t, slices.ContainsFunc(keys(found), func(command string) bool { return stands(text, command) }),
			"nobody is told %q any more: take it out of remedies", text)
	}
}

func keys(found map[string]string) []string {
	var all []string
	for key := range found {
		all = append(all, key)
	}
	return all
}

// placeholder matches a placeholder of an explanation, which docs/errors.md fills in.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// stands reports whether a command equals a text, or an explanation with its placeholders filled in.
func stands(text, command string) bool {
	if text == command {
		return true
	}
	pattern := regexp.QuoteMeta(text)
	for _, p := range placeholder.FindAllString(text, -1) {
		pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta(p), `\S+`)
	}
	return placeholder.MatchString(text) && regexp.MustCompile("^"+pattern+"$").MatchString(command)
}

// hostTool matches the beginning of a host command.
var hostTool = regexp.MustCompile(`^(?:qm|pvesm|pvesh|pveum|pvenode|pvecm|pct|ha-manager) [a-z]`)

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	inPage = regexp.MustCompile("(?m)^```sh\n((?s:.*?))^```")
	prose  = regexp.MustCompile(`(?:^|[ (])(?:qm|pvesm|pvesh|pveum|pvenode|pvecm|pct|ha-manager) [a-z]`)
)

// commandsOf returns the commands of a text: the whole text, or its parts in backticks. In prose the backticks are required,
// because they mark the end of a command.
func commandsOf(t *testing.T, place, text string) []string {
	t.Helper()
	if hostTool.MatchString(text) {
		return []string{text}
	}
	var commands []string
	for _, span := range quoted.FindAllStringSubmatch(text, -1) {
		if hostTool.MatchString(span[1]) {
			commands = append(commands, span[1])
		}
	}
	require.NotRegexp(t, prose, quoted.ReplaceAllString(text, "…"), "%s: a command stands in a sentence without backticks", place)
	return commands
}

const root = "../../.."

// hostCommandsOfSources returns the commands in string literals for users, with their files. The lab quotes Proxmox VE, which
// is no advice, so only its command package is read.
func hostCommandsOfSources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range []string{"cmd", "components", "internal", "internal/lab/command", "operator", "stacks"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path == filepath.Join(root, "internal", "lab"):
				return filepath.SkipDir
			case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			for _, literal := range literals(t, path) {
				for _, command := range commandsOf(t, path, literal) {
					found[command] = path
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	return found
}

// literals returns the strings of a Go file. A raw string has no backticks; its quotes are double quotes.
func literals(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	var texts []string
	ast.Inspect(file, func(node ast.Node) bool {
		literal, isLiteral := node.(*ast.BasicLit)
		if !isLiteral || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		if literal.Value[0] == '`' {
			text = regexp.MustCompile(`"((?:qm|pve\w+) [^"]+)"`).ReplaceAllString(text, "`$1`")
		}
		texts = append(texts, text)
		return true
	})
	return texts
}

// hostCommandsOfPages returns the commands in the documentation, in sentences and in blocks.
func hostCommandsOfPages(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	found := map[string]string{}
	for _, page := range pages {
		read, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range inPage.FindAllStringSubmatch(string(read), -1) {
			for line := range strings.Lines(block[1]) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
				if hostTool.MatchString(line) {
					found[strings.TrimSpace(line)] = page
				}
			}
		}
		for line := range strings.Lines(inPage.ReplaceAllString(string(read), "")) {
			for _, command := range commandsOf(t, page, line) {
				found[command] = page
			}
		}
	}
	return found
}

// consequence sends a request and returns its result: the status line, or the exit status of its task.
func (l *lab) consequence(verb, path string, params url.Values) string {
	l.t.Helper()
	r := l.do(verb, path, params)
	if upid := strings.Trim(string(r.Data), `"`); r.Status == "200 OK" && strings.HasPrefix(upid, "UPID:") {
		return l.wait(upid).ExitStatus
	}
	return r.Status
}

func (l *lab) statusOf(vmid string) string {
	l.t.Helper()
	var current struct{ Status string }
	l.ok(http.MethodGet, "/nodes/vmhost/qemu/"+vmid+"/status/current", nil, &current)
	return current.Status
}

// unlockAVM: after a power cut during a clone, the lock has no task any more.
func unlockAVM(t *testing.T) {
	l := newLab(t, func(c *proxmox.Config) {
		withFaults(t, c, fault.Fault{Name: "clone-hangs"}, fault.Fault{Name: "host-reboots", Endpoint: "/pools"})
	})
	l.template()
	l.ok(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1"), nil)
	answers := func(path string) func() bool {
		return func() bool {
			r, err := l.try(t.Context(), l.token, http.MethodGet, path, nil)
			return err == nil && r.Status == "200 OK"
		}
	}
	polltest.Until(t, answers("/nodes/vmhost/qemu/101/config")) // its worker has begun
	_, err := l.try(t.Context(), l.token, http.MethodPost, "/pools", values("poolid=a1"))
	require.ErrorContains(t, err, "EOF")
	polltest.Until(t, answers("/version"))
	require.Equal(t, "VM is locked (clone)", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
	require.Empty(t, l.asRoot(node, "qm unlock 101"))
	require.Equal(t, "OK", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
}

func growARoot(t *testing.T) {
	l := newContainerLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 ostemplate="+containerTemplate+" storage=tank rootfs=tank:8 hostname=dns"))
	require.Empty(t, l.asRoot(node, "pct resize 200 rootfs 8704M"))
	require.Contains(t, l.container("200")["rootfs"], "size=8704M")
	require.Empty(t, l.asRoot(node, "pct resize 200 rootfs 9G"))
	require.Contains(t, l.container("200")["rootfs"], "size=9G")
}

// goBackToASnapshot: a machine and a container have their former settings, and both are off.
func goBackToASnapshot(t *testing.T) {
	l := newContainerLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=210 scsi0=tank:1 memory=1024 start=1"))
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=211 ostemplate="+containerTemplate+" rootfs=tank:4 memory=1024 start=1"))
	for _, guest := range []string{"qemu/210", "lxc/211"} {
		l.must(http.MethodPost, "/nodes/vmhost/"+guest+"/snapshot", values("snapname=em-infra-20261126-100000"))
		l.ok(http.MethodPut, "/nodes/vmhost/"+guest+"/config", values("memory=2048"), nil)
	}
	require.Empty(t, l.asRoot(node, "qm rollback 210 em-infra-20261126-100000"))
	require.Empty(t, l.asRoot(node, "pct rollback 211 em-infra-20261126-100000"))
	require.EqualValues(t, "1024", l.config("210")["memory"])
	require.EqualValues(t, 1024, l.container("211")["memory"])
	require.Equal(t, []string{"stopped", "stopped"}, []string{l.statusOf("210"), l.containerStatus("211")})
}

// removeSnapshots: a disk that they held can then be moved.
func removeSnapshots(t *testing.T) {
	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/snapshot", values("snapname=mine"))
	move := func() string {
		return l.consequence(http.MethodPost, "/nodes/vmhost/qemu/101/move_disk", values("disk=scsi0 storage=thin delete=1"))
	}
	require.Equal(t, "500 you can't move a disk with snapshots and delete the source", move())
	require.Empty(t, l.asRoot(node, "qm delsnapshot 101 mine"))
	require.Equal(t, "OK", move())
}

func startAContainerAtBoot(t *testing.T) {
	l := newContainerLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 ostemplate="+containerTemplate+" storage=tank rootfs=tank:8 hostname=dns"))
	require.Empty(t, l.asRoot(node, "pct set 200 --onboot 1"))
	require.EqualValues(t, 1, l.container("200")["onboot"])
}

func switchNestingOff(t *testing.T) {
	l := newContainerLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 ostemplate="+containerTemplate+" storage=tank rootfs=tank:8 hostname=dns unprivileged=1 features=nesting=1"))
	require.Equal(t, "nesting=1", l.container("200")["features"])
	require.Empty(t, l.asRoot(node, "pct set 200 --delete features"))
	require.NotContains(t, l.container("200"), "features")
}

func letAStorageTakeMore(t *testing.T) {
	l := newLab(t, nil)
	var shown map[string]any
	l.ok(http.MethodPost, "/storage", values("storage=share type=dir path=/srv/share content=iso"), &shown)
	require.Empty(t, l.asRoot(node, "pvesm set share --content iso,vztmpl"))
	l.ok(http.MethodGet, "/storage/share", nil, &shown)
	require.Equal(t, "iso,vztmpl", shown["content"])
}

func removeAStorage(t *testing.T) {
	l := newLab(t, nil)
	var made map[string]any
	l.ok(http.MethodPost, "/storage", values("storage=share type=dir path=/srv/share content=iso"), &made)
	require.Empty(t, l.asRoot(node, "pvesm remove share"))
	require.Equal(t, "500 storage 'share' does not exist", l.do(http.MethodGet, "/storage/share", nil).Status)
}

func stopAVM(t *testing.T) {
	l := newLab(t, func(c *proxmox.Config) {
		c.Pace = scaled(t, 0.001)
		withFaults(t, c, fault.Fault{Name: "shutdown-ignored"})
	})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 start=1"))
	require.Equal(t, "VM quit/powerdown failed - got timeout",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=1")))
	require.Equal(t, "500 VM 101 is running - destroy failed", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
	require.Empty(t, l.asRoot(node, "qm stop 101"))
	require.Equal(t, "OK", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
}

// resetAVM: a machine that does not react is restarted.
func resetAVM(t *testing.T) {
	m := &machines{deaf: true}
	l := newLab(t, withMachines(m))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))
	require.Empty(t, l.asRoot(node, "qm reset 101"))
	require.Equal(t, []string{"on 101", "off 101", "on 101"}, m.seen())
	require.Equal(t, "qm reset 102: Configuration file 'nodes/vmhost/qemu-server/102.conf' does not exist", l.asRoot(node, "qm reset 102"))
}

// rebootAVM: changes that wait for a cold start are applied afterwards.
func rebootAVM(t *testing.T) {
	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 cores=1 scsi0=tank:1 start=1"))
	require.Equal(t, "200 OK", l.consequence(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("cores=2")))
	waits := func() bool {
		var pending []struct {
			Key     string
			Pending any
		}
		l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/pending", nil, &pending)
		for _, p := range pending {
			if p.Pending != nil {
				return true
			}
		}
		return false
	}
	require.True(t, waits())
	require.Empty(t, l.asRoot(node, "qm reboot 101"))
	polltest.Until(t, func() bool { return l.statusOf("101") == "running" && !waits() })
}

// takeTheISOOut: the ISO is in ide0 (components/virtual_machine.go), and a machine whose ISO was deleted does not start.
func takeTheISOOut(t *testing.T) {
	l := newLab(t, nil)
	base := images(t)
	l.must(http.MethodPost, "/nodes/vmhost/storage/local/download-url",
		url.Values{"content": {"iso"}, "filename": {"a.iso"}, "url": {base + "/nocloud-amd64.iso"}})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 machine=q35 scsi0=nas:1 ide0=local:iso/a.iso,media=cdrom"))
	require.Contains(t, l.consequence(http.MethodPost, "/nodes/vmhost/qemu/101/migrate", values("target=vmhost2")),
		"Problem found while scanning volumes - can't migrate VM")
	require.Equal(t, "OK", l.consequence(http.MethodDelete, "/nodes/vmhost/storage/local/content/local:iso%2Fa.iso", nil))
	require.Contains(t, l.consequence(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil), "volume 'local:iso/a.iso' does not exist")

	require.Empty(t, l.asRoot(node, "qm set 101 --ide0 none,media=cdrom"))
	require.Equal(t, "OK", l.consequence(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
	require.Equal(t, "OK", l.consequence(http.MethodPost, "/nodes/vmhost/qemu/101/migrate", values("target=vmhost2 online=1")))
}

func unprotectAVM(t *testing.T) {
	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 protection=1"))
	require.Equal(t, "500 can't remove VM 101 - protection mode enabled", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
	require.Empty(t, l.asRoot(node, "qm set 101 --protection 0"))
	require.Equal(t, "OK", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
}

func turnTheAgentOff(t *testing.T) {
	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 agent=1"))
	require.Empty(t, l.asRoot(node, "qm set 101 --agent 0"))
	require.Equal(t, "0", l.config("101")["agent"])
}

// nameTheFormat: the format of a cloud-init drive is set while the machine runs.
func nameTheFormat(t *testing.T) {
	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 ide2=tank:cloudinit"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	require.Empty(t, l.asRoot(node, "qm set 101 --citype nocloud"))
	require.Equal(t, "nocloud", l.config("101")["citype"])
}

// destroyAVM: Proxmox VE does not delete a running VM.
func destroyAVM(t *testing.T) {
	for _, line := range []string{"qm stop 101 && qm destroy 101 --purge", "qm stop 101; qm destroy 101 --purge"} {
		l := newHALab(t, nil)
		l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
		require.Equal(t, "qm destroy 101 --purge: 500 VM 101 is running - destroy failedmap[]", l.asRoot(node, "qm destroy 101 --purge"))
		require.Empty(t, l.asRoot(node, line))
		require.Equal(t, "500 Configuration file 'nodes/vmhost/qemu-server/101.conf' does not exist",
			l.do(http.MethodGet, "/nodes/vmhost/qemu/101/config", nil).Status)
	}
}

func destroyAContainer(t *testing.T) {
	l := newContainerLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=211 ostemplate="+containerTemplate+" rootfs=tank:4"))
	require.Empty(t, l.asRoot(node, "pct destroy 211 --purge"))
	require.Equal(t, "500 Configuration file 'nodes/vmhost/lxc/211.conf' does not exist", l.do(http.MethodGet, "/nodes/vmhost/lxc/211/config", nil).Status)
}

func removeWhatIsUnused(t *testing.T) {
	l := newLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
	base := images(t)
	l.must(http.MethodPost, "/nodes/vmhost/storage/local/download-url",
		url.Values{"content": {"iso"}, "filename": {"a.iso"}, "url": {base + "/nocloud-amd64.iso"}})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 scsi1=tank:1"))
	require.Equal(t, "200 OK", l.consequence(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("delete=scsi1")))
	unused := l.config("101")["unused0"].(string) //nolint:forcetypeassert // a test
	require.Contains(t, l.server.Volumes(), "vmhost/"+unused)

	require.Empty(t, l.asRoot(node, "qm disk unlink 101 --idlist unused0 --force"))
	require.NotContains(t, l.server.Volumes(), "vmhost/"+unused)
	require.Nil(t, l.config("101")["unused0"])
	require.Empty(t, l.asRoot(node, "pvesm free local:iso/a.iso"))
	require.NotContains(t, l.server.Volumes(), "vmhost/local:iso/a.iso")
}

func takeAVMFromTheHAManager(t *testing.T) {
	l := newHALab(t, nil)
	l.ok(http.MethodPost, resources, values("sid=vm:101 state=stopped"), nil)
	require.Contains(t, l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil), "used in HA resources and purge parameter not set")
	require.Empty(t, l.asRoot("vmhost2", "ha-manager remove vm:101"))
	require.Equal(t, "OK", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
}

func makeAndDeleteAPool(t *testing.T) {
	l := administrator(t)
	require.Contains(t, l.consequence(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 pool=k8s")), "pool 'k8s' does not exist")
	require.Empty(t, l.asRoot(node, "pveum pool add k8s"))
	require.Equal(t, "OK", l.consequence(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 pool=k8s")))
	require.Equal(t, "OK", l.consequence(http.MethodDelete, "/nodes/vmhost/qemu/101", nil))
	require.Empty(t, l.asRoot(node, "pveum pool delete k8s"))
	require.Equal(t, "500 pool 'k8s' does not exist", l.do(http.MethodGet, "/pools/k8s", nil).Status)
}

// release84 is the requirement for the role of the labs in these tests.
var release84 = role.Need{Release: role.Release{Major: 8, Minor: 4}, GuestAgent: true}

// privileges returns a token's privileges on a path.
func (l *lab) privileges(tokenID, secret, path string) []string {
	l.t.Helper()
	r, err := l.try(l.t.Context(), tokenID+"="+secret, http.MethodGet, "/access/permissions", url.Values{"path": {path}})
	require.NoError(l.t, err)
	require.Equal(l.t, "200 OK", r.Status)
	var byPath map[string]map[string]int
	require.NoError(l.t, json.Unmarshal(r.Data, &byPath))
	var names []string
	for name := range byPath[path] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// tokenAsDocumented runs the documented commands that create the token, and returns its secret.
func (l *lab) tokenAsDocumented() string {
	l.t.Helper()
	commands := role.Commands(release84, role.DefaultToken)
	for _, command := range commands[:len(commands)-1] {
		require.Empty(l.t, l.asRoot(node, command))
	}
	var made struct{ Value string }
	path, params := hostCommands[slices.IndexFunc(hostCommands, func(c hostCommand) bool { return c.words == "pveum user token add" })].
		request(node, words(commands[len(commands)-1])[len(strings.Fields("pveum user token add")):])
	l.ok(http.MethodPost, path, params, &made)
	return made.Value
}

func makeTheToken(t *testing.T) {
	l := administrator(t)
	secret := l.tokenAsDocumented()
	want := slices.Clone(release84.Privileges())
	slices.Sort(want)
	require.Equal(t, want, l.privileges(role.DefaultToken.String(), secret, "/"))
}

// removeTheToken: the host accepts the token until then.
func removeTheToken(t *testing.T) {
	l := administrator(t)
	secret := l.tokenAsDocumented()
	require.NotEmpty(t, l.privileges(role.DefaultToken.String(), secret, "/"))
	require.Empty(t, l.asRoot(node, "pveum user token remove "+role.DefaultToken.User+" "+role.DefaultToken.Name))
	require.Contains(t, l.asRoot(node, "pveum user token remove "+role.DefaultToken.User+" "+role.DefaultToken.Name), "no such token")
}

// repairTheToken: a role that lacks privileges, and a token that is separated from its user.
func repairTheToken(t *testing.T) {
	l := administrator(t)
	for _, command := range []string{
		"pveum role add " + role.Name + ` --privs "VM.Audit"`, "pveum user add em-infra@pve",
	} {
		require.Empty(t, l.asRoot(node, command))
	}
	var made struct{ Value string }
	l.ok(http.MethodPost, "/access/users/em-infra@pve/token/operator", values("privsep=1"), &made)
	repairs := role.Repairs(release84, role.DefaultToken, role.Standing{RoleFound: true, Role: []string{"VM.Audit"}})
	require.Contains(t, strings.Join(repairs, "\n"), "pveum role modify")
	require.Contains(t, strings.Join(repairs, "\n"), "--tokens 'em-infra@pve!operator'")
	for _, command := range repairs {
		require.Empty(t, l.asRoot(node, command))
	}
	want := slices.Clone(release84.Privileges())
	slices.Sort(want)
	require.Equal(t, want, l.privileges("em-infra@pve!operator", made.Value, "/"))
}

func givePermissionOnAPath(t *testing.T) {
	l := administrator(t)
	secret := l.tokenAsDocumented()
	const path = "/sdn/zones/localnetwork/vmbr0/20"
	require.Empty(t, l.asRoot(node, "pveum acl modify "+path+" --users em-infra@pve --roles PVESDNUser"))
	require.Contains(t, l.privileges(role.DefaultToken.String(), secret, path), "SDN.Use")
	require.Empty(t, l.asRoot(node, "pveum acl modify /vms/101 --users em-infra@pve --roles "+role.Name))
	require.Contains(t, l.privileges(role.DefaultToken.String(), secret, "/vms/101"), "VM.Allocate")
}

// look runs commands that only read.
func look(t *testing.T) {
	l := administrator(t)
	var upid string
	l.ok(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1"), &upid)
	l.wait(upid)
	for _, command := range []string{"pvesh get /nodes/vmhost/tasks --source active", "pvenode task status " + upid, "pvesm status", "pveum role list"} {
		require.Empty(t, l.asRoot(node, command))
	}
}
