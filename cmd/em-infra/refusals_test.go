package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/internal/shell"
)

func TestCommandLinesThatAreRefused(t *testing.T) {
	t.Parallel()
	const noStack = "no stack is named: add --stack NAME, e.g. --stack k3s-dev"
	for _, test := range []struct {
		args     []string
		sentence string
	}{
		{[]string{"up"}, noStack},
		{[]string{"preview", "--lab"}, noStack},
		{[]string{"destroy", "--yes"}, noStack},
		{[]string{"rehearse"}, noStack},
		{[]string{"node", "rollback"}, "give the name of one node: `em-infra status` says what each of them runs"},
		{[]string{"node", "rollback", "k3s-dev-worker-1"}, noStack},
		{[]string{"reboot"}, "give the names of the nodes to reboot, or --all: `em-infra status` says which ones wait for a boot"},
		{[]string{"reboot", "--all", "k3s-dev-worker-1"}, "give the names of the nodes to reboot, or --all: `em-infra status` says which ones wait for a boot"},
		{[]string{"reboot", "--all"}, noStack},
		{[]string{"rehearse", "--output", "yaml"}, `--output: "yaml" is no format: choose text or json`},
		{[]string{"credentials", "new"}, noStack},
		{[]string{"credentials", "new", "--role", "root"}, "--role: \"root\" is no role of the Talos API: choose one of os:etcd:backup, os:reader, os:operator, os:admin"},
		{[]string{"credentials", "new", "--ttl", "30d"}, "invalid argument \"30d\" for \"--ttl\" flag: time: unknown unit \"d\" in duration \"30d\": see `em-infra credentials new --help`"},
		{[]string{"credentials", "new", "--ttl", "1s"}, "--ttl: a certificate is valid for 1m or longer (got 1s): give a longer time, as in 8h"},
		{[]string{"credentials", "new", "--user", "anna"}, "--user and --group are for a kubeconfig: add --kubeconfig, or leave them out"},
		{[]string{"credentials", "new", "--kubeconfig"}, "no user is named: add --user NAME, the name in the RoleBindings of Kubernetes"},
		{[]string{"credentials", "new", "--kubeconfig", "--role", "os:reader"}, "--role is for a talosconfig, and --kubeconfig makes a kubeconfig: leave one of the two out"},
		{[]string{"rotate", "proxmox-token"}, noStack},
		{[]string{"rotate", "passphrase"}, "no new passphrase is given: write one into a file and add --new-passphrase-file FILE"},
		{[]string{"rotate", "passphrase", "--new-passphrase-file", os.DevNull}, "the new passphrase is empty: write one into a file and add --new-passphrase-file FILE"},
		{[]string{"rotate", "passphrase", "--new-passphrase-file", "main.go"}, "the new passphrase has several lines, of which Pulumi reads the first: write it on one line"},
		{[]string{"lab", "start"}, noStack},
		{[]string{"lab", "stop"}, noStack},
		{[]string{"lab", "status"}, noStack},
		{[]string{"lab", "env"}, noStack},
		{[]string{"upp"}, "\"upp\" is no command of em-infra: see `em-infra --help`"},
		{[]string{"lab", "strat"}, "\"strat\" is no command of em-infra lab: see `em-infra lab --help`"},
		{[]string{"tools", "instal"}, "\"instal\" is no command of em-infra tools: see `em-infra tools --help`"},
		{[]string{"up", "--stcak", "k3s-dev"}, "unknown flag: --stcak: see `em-infra up --help`"},
		{[]string{"up", "k3s-dev", "k3s-prod"}, "\"k3s-prod\" is one word too many: name one stack, as in `em-infra up --stack k3s-dev`"},
		{[]string{"status", "--stack", "k3s-dev", "k3s-prod"}, "\"k3s-prod\" is one word too many, for --stack k3s-dev names the stack already: leave one of the two out"},
		{[]string{"reboot", "k3s-dev"}, noStack},
		{[]string{"up", "--keep", "0"}, "invalid argument \"0\" for \"--keep\" flag: give how many to keep, 1 or more: see `em-infra up --help`"},
		{[]string{"state", "backup", "--keep", "all"}, "invalid argument \"all\" for \"--keep\" flag: give how many to keep, 1 or more: see `em-infra state backup --help`"},
		{[]string{"role", "--pve", "7.4"}, "--pve: Proxmox VE 7.4 is too old: upgrade the host to Proxmox VE 8.4 or 9"},
		{[]string{"node", "wait", "--address", "vmhost"}, `--address: "vmhost" is not an IP address: give the node's own`},
		{[]string{"node", "remove"}, "--name is empty: give the name of the node"},
		{[]string{"node", "remove", "--name", "worker-1", "--address", "vmhost"}, `--address: "vmhost" is not an IP address: give the node's own`},
		{
			[]string{"node", "remove", "--name", "control-2", "--address", "127.0.0.1", "--control-plane"},
			"control-2 is a control plane, and pulumi alone does not know which control planes stay: run `em-infra up`, which asks for your consent and has its member leave etcd first, or put it back into nodes.yaml as it was",
		},
	} {
		t.Run(test.args[0], func(t *testing.T) {
			t.Parallel()
			require.Equal(t, refusal(test.sentence), em(t.Context(), test.args...))
		})
	}
}

func TestHelpIsASuccess(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--help"}, {"lab"}, {"tools", "--help"}} {
		result := em(t.Context(), args...)
		require.Equal(t, exitOK, result.code)
		require.Contains(t, result.out, "Usage:")
		require.Empty(t, result.err)
	}
}

// TestFlagsOfAnAdoptionThatIsNone: a command that only writes an inventory would ignore them.
func TestFlagsOfAnAdoptionThatIsNone(t *testing.T) {
	t.Parallel()
	want := refusal("--write-inventory only writes cluster.yaml and nodes.yaml, and adopts nothing: leave --dry-run and --secrets out, and give them to the adoption itself")
	for _, flags := range [][]string{{"--dry-run"}, {"--secrets", "secrets.yaml"}} {
		require.Equal(t, want, em(t.Context(), append([]string{"adopt", "--stack", "k3s-dev", "--write-inventory"}, flags...)...))
	}
}

func TestNoProjectHere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"up"}, {"preview", "--lab"}, {"destroy"}, {"lab", "status"}} {
		require.Equal(t, refusal("no Pulumi.yaml of project em-infra here or in a folder above: change into the folder of your project, or write one with `em-infra init`"),
			em(t.Context(), append(args, "--stack", "k3s-dev")...))
	}
}

func TestStackNamesThatLeadElsewhere(t *testing.T) {
	root := project(t)
	before := files(t, root)
	for _, args := range [][]string{{"up", "--lab", "--yes"}, {"lab", "start"}, {"destroy", "--yes"}} {
		require.Equal(t, refusal(`".." is no name of a stack: choose one of up to 100 letters, digits, -, _ and . that begins with a letter or a digit`),
			em(t.Context(), append(args, "--stack", "..")...))
	}
	require.Equal(t, before, files(t, root))
}

func TestConsentNeedsATerminal(t *testing.T) {
	root := project(t)
	before := files(t, root)
	require.Equal(t, refusal("consent cannot be asked for without a terminal: look at `em-infra preview --stack k3s-dev --lab`, then add --yes to bring it up"),
		em(t.Context(), "up", "--stack", "k3s-dev", "--lab"))
	require.Equal(t, refusal("consent cannot be asked for without a terminal: look at `em-infra preview --stack k3s-dev`, then add --yes to delete all of it"),
		em(t.Context(), "destroy", "--stack", "k3s-dev"))
	require.Equal(t, before, files(t, root))
}

func TestSecretsThatAreMissing(t *testing.T) {
	root := project(t)
	preview := func() outcome { return em(t.Context(), "preview", "--stack", "k3s-dev") }

	require.Equal(t, refusal("the passphrase of the stack's secrets is not set: put it into a file and run "+
		"`export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`, or add --lab to rehearse without"), preview())

	file := filepath.Join(root, "passphrase")
	t.Setenv("PULUMI_CONFIG_PASSPHRASE_FILE", file)
	require.Equal(t, refusal("the file that PULUMI_CONFIG_PASSPHRASE_FILE names is not there (stat "+file+": no such file or directory): "+
		"correct the name, or add --lab to rehearse without"), preview())

	const noToken = "Pulumi.k3s-dev.yaml holds no Proxmox API token: run `pulumi config set --stack k3s-dev --secret " +
		"em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without"
	const noFile = "Pulumi.k3s-dev.yaml is not there: put it back from git or with `em-infra kit restore --stack k3s-dev`, or write it with " +
		"`pulumi config set --stack k3s-dev em-infra:proxmoxEndpoint https://HOST:8006` and " +
		"`pulumi config set --stack k3s-dev --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, with the passphrase of the state if there is one; " +
		"or add --lab to rehearse without"
	writeFile(t, file, "made up")
	for _, args := range [][]string{{"preview"}, {"up", "--yes"}, {"adopt"}, {"adopt", "--write-inventory", "--inventory", t.TempDir()}} {
		require.Equal(t, refusal(noFile), em(t.Context(), append(args, "--stack", "k3s-dev")...), args)
	}
	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "config: {}\n")
	require.Equal(t, refusal(noToken), preview())
	t.Setenv("PULUMI_CONFIG_PASSPHRASE_FILE", "")
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "")
	require.Equal(t, refusal(noToken), preview(), "an empty passphrase is one")
}

// TestAKeyServiceNeedsNoPassphrase, but a recipient for what it does not seal. This is checked before anything else.
func TestAKeyServiceNeedsNoPassphrase(t *testing.T) {
	root := project(t)
	writeFile(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), "secretsprovider: hashivault://k3s-dev\nencryptedkey: c2VhbGVk\nconfig: {}\n")
	before := files(t, root)
	const noRecipient = "the secrets of stack k3s-dev are sealed by hashivault://k3s-dev, so it has no passphrase for snapshots of etcd and recovery kits: " +
		"add an age recipient to backups.recipients in cluster.yaml"
	for _, args := range [][]string{{"validate"}, {"preflight"}, {"preview"}, {"up", "--yes"}} {
		require.Equal(t, refusal(noRecipient), em(t.Context(), append(args, "--stack", "k3s-dev")...), args)
	}
	require.Equal(t, before, files(t, root))

	writeFile(t, filepath.Join(root, "stacks/k3s-dev/cluster.yaml"), soundCluster+"backups: {recipients: ["+sopstest.NewKey(t).Recipient().String()+"]}\n")
	require.Empty(t, em(t.Context(), "validate", "--stack", "k3s-dev").err)
	require.Equal(t, refusal("Pulumi.k3s-dev.yaml holds no Proxmox API token: run `pulumi config set --stack k3s-dev --secret "+
		"em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without"), em(t.Context(), "preview", "--stack", "k3s-dev"))
}

func TestTheStackIsAnArgumentToo(t *testing.T) {
	project(t)
	const none = "there is no lab of k3s-dev yet: start one with `em-infra lab start --stack k3s-dev`"
	for _, args := range [][]string{{"preview", "k3s-dev", "--lab"}, {"destroy", "--lab", "--yes", "k3s-dev"}, {"lab", "status", "k3s-dev"}, {"lab", "env", "k3s-dev"}} {
		require.Equal(t, refusal(none), em(t.Context(), args...))
	}
	sound := em(t.Context(), "validate", "--stack", "k3s-dev")
	require.Equal(t, exitOK, sound.code, sound.err)
	require.Equal(t, sound, em(t.Context(), "validate", "k3s-dev"))
}

// TestRunAsIfStartedElsewhere: the commands that are printed work in the folder of the user, not in that of --directory.
func TestRunAsIfStartedElsewhere(t *testing.T) {
	root := project(t)
	elsewhere := t.TempDir()
	defer func() { ledBy = nil }()
	for _, args := range [][]string{{"-C", root, "lab", "status"}, {"lab", "status", "--directory", root}, {"-C", filepath.Dir(root), "-C", filepath.Base(root), "lab", "status"}} {
		t.Chdir(elsewhere)
		ledBy = nil
		led := shell.Word(root)
		if len(args) == 6 {
			led = shell.Word(filepath.Dir(root)) + " -C " + shell.Word(filepath.Base(root))
		}
		require.Equal(t, refusal("there is no lab of k3s-dev yet: start one with `em-infra -C "+led+" lab start --stack k3s-dev`"),
			em(t.Context(), append(args, "--stack", "k3s-dev")...))
	}
	t.Chdir(elsewhere)
	ledBy = nil
	require.Equal(t, refusal("invalid argument \"none\" for \"-C, --directory\" flag: chdir none: no such file or directory: name a folder that is there: see `em-infra up --help`"),
		em(t.Context(), "up", "-C", "none"))
	require.Equal(t, "k3s-dev\n:4\n", em(t.Context(), "__complete", "-C", root, "status", "--stack", "").out)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	result := em(t.Context(), "--version")
	require.Equal(t, exitOK, result.code)
	require.Regexp(t, `^em-infra \S+ \(go1\.\S+ \w+/\w+\)\n$`, result.out)
	require.Empty(t, result.err)
}

func TestLabThatDoesNotRun(t *testing.T) {
	root := project(t)
	const none = "there is no lab of k3s-dev yet: start one with `em-infra lab start --stack k3s-dev`"
	for _, args := range [][]string{{"preview", "--lab"}, {"destroy", "--lab", "--yes"}, {"lab", "status"}, {"lab", "env"}} {
		require.Equal(t, refusal(none), em(t.Context(), append(args, "--stack", "k3s-dev")...))
	}
	stoppedLab(t, root)
	const stopped = "the lab of k3s-dev is not running: start it with `em-infra lab start --stack k3s-dev`"
	for _, args := range [][]string{{"preview", "--lab"}, {"destroy", "--lab", "--yes"}, {"lab", "env"}} {
		require.Equal(t, refusal(stopped), em(t.Context(), append(args, "--stack", "k3s-dev")...))
	}
	require.Equal(t, outcome{out: "the lab of k3s-dev was not running\n"}, em(t.Context(), "lab", "stop", "--stack", "k3s-dev"))
}

func TestNodeWaitWithoutATalosconfig(t *testing.T) {
	t.Setenv(talosconfigVariable, "")
	require.Equal(t, refusal("EM_INFRA_TALOSCONFIG is empty: put the stack's output talosconfig there"),
		em(t.Context(), "node", "wait", "--address", "127.0.0.1"))
	t.Setenv(talosconfigVariable, "nonsense")
	require.Equal(t, outcome{err: "the talosconfig cannot be read: give the stack's output talosconfig as it is\n", code: exitFailed},
		em(t.Context(), "node", "wait", "--address", "127.0.0.1"))
	require.Equal(t, outcome{err: "the talosconfig cannot be read: give the stack's output talosconfig as it is\n", code: exitFailed},
		em(t.Context(), "node", "remove", "--name", "worker-1", "--address", "127.0.0.1"))
}
