package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// TestE2EPlainPulumi follows the quickstart in a fresh clone, as a user with an ordinary Pulumi installation: the program runs under a language host,
// and `pulumi` alone brings the cluster up. Then em-infra works on the same state.
func TestE2EPlainPulumi(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.shell("go install -trimpath ./cmd/em-infra")
	c.shell("em-infra validate --stack k3s-dev")
	c.startLab()
	c.quickstart()

	c.shell("pulumi up --stack k3s-dev --yes")
	c.requireNoChanges()
	c.shell("pulumi refresh --stack k3s-dev --yes --expect-no-changes")

	c.shareStateWithRehearsal()
	before := len(writes(c.calls()))
	c.shell("em-infra preview --stack k3s-dev --lab")
	c.shell("em-infra up --stack k3s-dev --lab --yes")
	require.Empty(t, writes(c.calls())[before:], "em-infra has nothing to add")
	c.holdsTheChecklist()
	c.shell("pulumi stack rename --stack k3s-dev another")
	c.shell("pulumi stack rename --stack another k3s-dev") // the remedy of preflight: then everything is as before
	c.requireNoChanges()

	c.shell("env -u EM_INFRA pulumi destroy --stack k3s-dev --yes") // as a user without em-infra: its Commands run with go
	require.Empty(t, c.hostFiles().VMs)
}

// clone is a fresh clone of this checkout, and a person with an empty home who works in it.
type clone struct {
	*rehearsal // that of its lab
	home       string
	env        []string
}

// newClone clones what is in version control, as it is in the working tree. From the machine it has only Go's caches, those of the tool chain, and a
// language host on PATH.
func newClone(t *testing.T) *clone {
	t.Helper()
	if testing.Short() {
		t.Skip("end to end: builds the tool chain and takes minutes")
	}
	checkout, err := filepath.Abs("../..")
	require.NoError(t, err)
	if exec.Command("git", "-C", checkout, "rev-parse", "HEAD").Run() != nil {
		t.Skip("this is no git checkout")
	}
	folder := t.TempDir()
	c := &clone{rehearsal: &rehearsal{t: t, stack: "k3s-dev", root: filepath.Join(folder, "em-infra")}, home: filepath.Join(folder, "home")}
	require.NoError(t, os.Mkdir(c.home, 0o700))
	shareRegistry(t, c.home)
	c.env = personsEnvironment(t, checkout, c.home)
	output, err := exec.Command("git", "clone", "--quiet", checkout, c.root).CombinedOutput()
	require.NoError(t, err, "%s", output)
	changes, err := exec.Command("git", "-C", checkout, "diff", "--binary", "HEAD").Output()
	require.NoError(t, err)
	if len(changes) > 0 {
		apply := exec.Command("git", "-C", c.root, "apply")
		apply.Stdin = bytes.NewReader(changes)
		output, err := apply.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	return c
}

// shareRegistry lets the labs of that user know those of the tests. With a registry of its own, a lab of that user would take the ports of a lab that
// is stopped while it is copied.
func shareRegistry(t *testing.T, home string) {
	t.Helper()
	registry := lab.DefaultRegistry()
	require.NotEmpty(t, registry, "without a cache folder, labs know nothing of each other")
	caches := filepath.Join(home, ".cache", "em-infra")
	require.NoError(t, os.MkdirAll(registry, 0o700))
	require.NoError(t, os.MkdirAll(caches, 0o700))
	require.NoError(t, os.Symlink(registry, filepath.Join(caches, "labs")))
}

// personsEnvironment returns the environment of that user's shell; nothing of the test's own Pulumi.
func personsEnvironment(t *testing.T, checkout, home string) []string {
	t.Helper()
	host, err := toolchain.Install(t.Context(), toolchain.Options{Source: checkout, Names: []string{"language-go"}})
	require.NoError(t, err)
	output, err := exec.Command("go", "env", "-json", "GOENV", "GOPATH", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	var caches map[string]string
	require.NoError(t, json.Unmarshal(output, &caches))
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "EM_INFRA" && !strings.HasPrefix(name, "PULUMI_") && !strings.HasPrefix(name, "XDG_") {
			env = append(env, entry)
		}
	}
	for name, value := range caches {
		env = append(env, name+"="+value)
	}
	bin := filepath.Join(home, "bin")
	path := strings.Join([]string{bin, filepath.Dir(host.Tools[0].Path), os.Getenv("PATH")}, string(filepath.ListSeparator))
	return append(env, "HOME="+home, "GOBIN="+bin, "PATH="+path, "EM_INFRA_CACHE="+toolchain.DefaultCacheDir(checkout))
}

// shell runs a command line in the clone and returns what it printed.
func (c *clone) shell(line string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-euc", line)
	command.Dir, command.Env = c.root, c.env
	var printed, complaints bytes.Buffer
	command.Stdout, command.Stderr = &printed, &complaints
	started := time.Now()
	err := command.Run()
	require.NoError(c.t, err, "%s\n%s\n%s", line, printed.String(), complaints.String())
	c.t.Logf("%s: %s", strings.SplitN(line, "\n", 2)[0], time.Since(started).Round(100*time.Millisecond))
	return printed.String()
}

func (c *clone) startLab() {
	c.t.Helper()
	c.shell("em-infra lab start --stack k3s-dev")
	c.t.Cleanup(func() {
		stop := exec.Command("sh", "-euc", "em-infra lab stop --stack k3s-dev")
		stop.Dir, stop.Env = c.root, c.env
		if output, err := stop.CombinedOutput(); err != nil {
			c.t.Errorf("lab stop: %v\n%s", err, output)
		}
	})
}

// quickstart runs the commands of docs/quickstart.md about the passphrase and the token, with the sample stack on the lab in the place of
// the new one on a host, and keeps what they leave in the environment.
func (c *clone) quickstart() {
	c.t.Helper()
	d, err := lab.ReadDescription(c.dir())
	require.NoError(c.t, err)
	_, section, found := strings.Cut(c.read(filepath.Join(c.root, "docs", "quickstart.md")), "\n## 5. The passphrase of the state\n")
	require.True(c.t, found)
	section, _, found = strings.Cut(section, "\n## ")
	require.True(c.t, found)
	var commands string
	for part := range strings.SplitSeq(section, "```sh\n") {
		if block, _, isBlock := strings.Cut(part, "```"); isBlock {
			commands += block
		}
	}
	for written, here := range map[string]string{"--stack home": "--stack k3s-dev", "init home": "init k3s-dev", "em-infra@pve!operator=SECRET": d.Token} {
		require.Contains(c.t, commands, written)
		commands = strings.ReplaceAll(commands, written, here)
	}
	const set = "pulumi config set --stack k3s-dev em-infra:"
	printed := c.shell(commands + set + "proxmoxEndpoint " + d.ProxmoxEndpoint() + "\n" + set + "proxmoxInsecure true\n" +
		set + "imageFactoryUrl " + d.FactoryURL() + "\n" + set + "labNetwork " + d.Network.String() + "\n" + "printf '\\0'; env -0")
	_, environment, found := strings.Cut(printed, "\x00")
	require.True(c.t, found)
	c.env = strings.Split(strings.TrimSuffix(environment, "\x00"), "\x00")
}

// shareStateWithRehearsal has `em-infra --lab` work on the state, the configuration and the passphrase of the clone's own
// stack, since em-infra refuses a real stack that labNetwork moves.
func (c *clone) shareStateWithRehearsal() {
	c.t.Helper()
	c.shell(`cp ~/.config/em-infra/passphrase .lab/k3s-dev/passphrase
cp Pulumi.k3s-dev.yaml .lab/k3s-dev/
printf 'backend:\n  url: file://../../.state\n' >> .lab/k3s-dev/Pulumi.yaml`)
}

// requireNoChanges checks that a plain preview shows no change.
func (c *clone) requireNoChanges() {
	c.t.Helper()
	c.shell("pulumi preview --stack k3s-dev --expect-no-changes")
}
