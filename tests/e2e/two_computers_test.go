package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/lab"
)

// TestE2ETwoComputersShareAStack: a state begins and ends in a bucket of a real S3 server, and two computers take turns on it. They have in
// common what operators have: the host, the bucket, and what Git carries. Run it with
//
//	go test ./tests/e2e -run TestE2ETwoComputersShareAStack -s3
func TestE2ETwoComputersShareAStack(t *testing.T) {
	t.Parallel()
	if !*onS3 {
		t.Skip("builds an S3 server, two minutes of processor time: run it with -s3")
	}
	host := newRehearsal(t, "e2e-two-computers")
	host.mustRun(0, "lab", "start")
	server := s3test.StartVersitygw(t)
	alpha, beta := host.onComputer("alpha", server), host.onComputer("beta", server)

	alpha.checksOut("Pulumi."+host.stack+".yaml", "config:\n  em-infra:backend: "+server.URL+"\n")
	require.Contains(t, alpha.mustRun(0, "up", "--lab", "--yes"), " is up")
	require.NoDirExists(t, filepath.Join(alpha.dir(), "state"), "the state begins in the bucket")
	beta.pulls(alpha)
	beta.mustRun(0, "preview", "--lab", "--refresh")
	require.NoDirExists(t, filepath.Join(beta.dir(), "state"))

	alpha.waitsFor(beta)
	beta.losesItsPower(alpha)

	require.Regexp(t, alpha.newestBackup()+` .*\n`, beta.mustRun(0, "state", "list", "--lab"), "backups are in the bucket, too")
	beta.mustRun(0, "destroy", "--lab", "--yes")
	require.Regexp(t, ` CREATE +k3s-dev-control-1 .*\n`, alpha.mustRun(2, "preview", "--lab"), "the other computer knows that nothing is left")
	machines, err := host.host().VirtualMachines(t.Context())
	require.NoError(t, err)
	require.Empty(t, machines)
	require.NoDirExists(t, filepath.Join(alpha.dir(), "state"))
}

// waitsFor runs an up of its own while one of the other computer goes on, and changes nothing before that one has ended.
func (r *rehearsal) waitsFor(other *rehearsal) {
	r.t.Helper()
	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 103, address: 192.168.20.22}")
	first := other.start("up", "--lab", "--yes")
	other.eventually("the other computer clones a machine", func() bool { return other.clones() > 2 })
	owner := `another run works on this stack \(process \d+ of \S+ on ` + other.computer + `, since `
	require.Regexp(r.t, owner, r.mustRun(3, "up", "--lab", "--yes"))
	second := r.start("up", "--lab", "--yes", "--wait", "30m")
	waits := regexp.MustCompile(`process \d+ of \S+ on ` + other.computer)
	r.eventually("it says for whom it waits", func() bool { return waits.MatchString(second.output()) })
	require.Equal(r.t, 0, first.wait().code, "%s", first.output())
	require.Equal(r.t, 0, second.wait().code, "%s", second.output())
	require.Equal(r.t, 3, r.clones(), "each machine was cloned once")
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// losesItsPower ends a computer in the middle of an up. The other computer cannot know that this run is dead, so a user removes its lock there, and
// the other computer goes on with what was begun.
func (r *rehearsal) losesItsPower(other *rehearsal) {
	r.t.Helper()
	r.addNode("{name: k3s-dev-worker-3, role: worker, vmid: 104, address: 192.168.20.23}")
	run := r.start("up", "--lab", "--yes")
	r.eventually("it clones a machine", func() bool { return r.clones() > 3 })
	require.NoError(r.t, run.command.Process.Kill(), "all of its processes end with it")
	<-run.ended
	owner := `another run works on this stack \(process \d+ of \S+ on ` + r.computer + `, since `
	require.Regexp(r.t, owner, other.mustRun(3, "up", "--lab", "--yes"))
	require.Regexp(r.t, owner, other.mustRun(3, "state", "unlock", "--lab"))
	other.mustRun(0, "state", "unlock", "--lab", "--force")
	require.Contains(r.t, other.mustRun(0, "up", "--lab", "--yes"), " is up")
	other.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2", "k3s-dev-worker-3")
	other.mustRun(0, "preview", "--lab", "--refresh")
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// onComputer returns the stack on another computer: with its own project, home, name and processes.
func (r *rehearsal) onComputer(name string, server s3test.Server) *rehearsal {
	r.t.Helper()
	home, root := r.t.TempDir(), r.t.TempDir()
	caches, err := os.UserCacheDir()
	require.NoError(r.t, err)
	there := &rehearsal{t: r.t, stack: r.stack, root: root, inventory: r.inventory, computer: name}
	there.env = append(server.Env, "HOME="+home, "XDG_CACHE_HOME="+caches)
	require.NoError(r.t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(r.read(filepath.Join(r.root, "Pulumi.yaml"))), 0o600))
	require.NoError(r.t, os.MkdirAll(there.dir(), 0o700))
	// The emulated host is found through the files of its folder.
	for _, file := range []string{lab.DescriptionName, "lab.lock", filepath.Base(lab.HostCalls(r.dir()))} {
		require.NoError(r.t, os.Symlink(filepath.Join(r.dir(), file), filepath.Join(there.dir(), file)))
	}
	return there
}

// checksOut writes a file that comes from Git, or from the other operator.
func (r *rehearsal) checksOut(name, text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir(), name), []byte(text), 0o600))
}

// pulls takes over what a stack needs on a second computer: its file, from Git, and the passphrase.
func (r *rehearsal) pulls(from *rehearsal) {
	r.t.Helper()
	for _, name := range []string{"Pulumi." + r.stack + ".yaml", "passphrase"} {
		r.checksOut(name, r.read(filepath.Join(from.dir(), name)))
	}
}

// ownComputer runs a command in namespaces of its own: another name of the machine, and process numbers that mean nothing elsewhere. All
// processes in there end with it.
func ownComputer(t testing.TB, command *exec.Cmd, name string) {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	require.NoError(t, err, "it is in Debian's package util-linux")
	command.Args = append([]string{
		unshare, "--uts", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c", `echo "$0" >/proc/sys/kernel/hostname; "$@"; exit $?`, name, command.Path,
	}, command.Args[1:]...)
	command.Path = unshare
	command.WaitDelay = time.Minute
}
