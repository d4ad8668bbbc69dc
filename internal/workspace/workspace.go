package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"

	"github.com/em-infra/em-infra/internal/bucket/address"
)

// Project is the name of the Pulumi project.
const Project = "em-infra"

// Workspace contains the paths of one stack. All are absolute.
type Workspace struct {
	// Stack is the stack's name.
	Stack string
	// Root is the folder with the project's Pulumi.yaml; relative paths of the configuration start there.
	Root string
	// Dir is the folder with the Pulumi.yaml and the stack file that are in use: Root, or that of a rehearsal.
	Dir string
	// Inventory is the folder with the inventory: cluster.yaml and nodes.yaml, hosts.yaml, or systems.yaml.
	Inventory string
	// Home is the PULUMI_HOME in use.
	Home string
	// Backend is the URL of the state: the one in the stack's file, or else in Pulumi.yaml of Dir, or a folder beside these files.
	Backend string
	// Backups is the folder of the copies of the state that are made before a change.
	Backups string
	// Artifacts is the folder of the files that runs write for inspection.
	Artifacts string
	// Credentials is the folder that kubeconfig and talosconfig are written to.
	Credentials string
	// Rehearsed is whether this is a rehearsal.
	Rehearsed bool
	// Lab is the folder of the lab of a rehearsal: Dir, unless it shares one with other stacks. Empty for real machines.
	Lab string
	// PassphraseFile is the file with the passphrase of the state. Default: empty, the one that the user's environment names; in a
	// rehearsal, its own.
	PassphraseFile string
}

// variableBackend is the environment variable with the URL of the states.
const variableBackend = "PULUMI_BACKEND_URL"

// ErrNoProject means that there is no project here.
var ErrNoProject = errors.New("no Pulumi.yaml of project " + Project + " here or in a folder above: change into the folder of your project, or write one with `em-infra init`")

// FindRoot returns the project's folder: from, or the nearest folder above it with the project's Pulumi.yaml.
func FindRoot(from string) (string, error) {
	for dir := from; ; dir = filepath.Dir(dir) {
		project, err := workspace.LoadProject(filepath.Join(dir, "Pulumi.yaml"))
		switch {
		case err == nil && project.Name == Project && !isRehearsal(dir):
			return dir, nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("%w: correct the file or restore it from git", err)
		case dir == filepath.Dir(dir):
			return "", ErrNoProject
		}
	}
}

// EngineDir returns the folder in which the engine starts its plugins: that of Pulumi.yaml, or the one that it names as main (pulumi pkg/v3
// v3.254.0, engine/project.go, getPwdMain). The file has to be there, see [Workspace.Prepare].
func (w *Workspace) EngineDir() (string, error) {
	project, err := workspace.LoadProject(w.projectFile())
	if err != nil {
		return "", err
	}
	main := filepath.Join(w.Dir, project.Main)
	if info, err := os.Stat(main); err == nil && !info.IsDir() {
		main = filepath.Dir(main)
	}
	return main, nil
}

// Real returns the workspace of a stack of real machines. inventory may be empty: then it is the one in the stack's file, or
// stacks/<stack>. A relative path starts at the current folder. The error wraps [ErrStackName] for an invalid name.
func Real(root, stack, inventory string) (*Workspace, error) {
	if err := checkStack(stack); err != nil {
		return nil, err
	}
	w := &Workspace{
		Stack:       stack,
		Root:        root,
		Dir:         root,
		Home:        filepath.Join(root, ".pulumi-home"),
		Backups:     backupsOf(root, stack),
		Artifacts:   filepath.Join(root, "artifacts", stack),
		Credentials: filepath.Join(root, ".credentials", stack),
	}
	return w, w.locate(".state", inventory)
}

// Rehearsal returns the workspace of a stack's rehearsal, under .lab/<stack> of the project. Arguments and errors are as for
// [Real].
func Rehearsal(root, stack, inventory string) (*Workspace, error) {
	if err := checkStack(stack); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, rehearsals, stack)
	w := &Workspace{
		Stack:       stack,
		Root:        root,
		Dir:         dir,
		Home:        filepath.Join(dir, "pulumi-home"),
		Backups:     filepath.Join(dir, "backups"),
		Artifacts:   filepath.Join(dir, "artifacts"),
		Credentials: dir,
		Rehearsed:   true,
	}
	if err := w.locateLab(); err != nil {
		return w, err
	}
	return w, w.locate("state", inventory)
}

// SitePage returns the file of the page about all stacks of the project, or about their rehearsals.
func (w *Workspace) SitePage() string {
	const name = "site.html"
	if w.Rehearsed {
		return filepath.Join(w.Root, rehearsals, name)
	}
	return filepath.Join(filepath.Dir(w.Artifacts), name)
}

// ErrStackName means that a name cannot be the name of a stack.
var ErrStackName = errors.New("is no name of a stack: choose one of up to 100 letters, digits, -, _ and . that begins with a letter or a digit")

// stackName is narrower than Pulumi's own rule (pulumi sdk/v3, go/common/tokens/stack_name.go): a stack is the name of folders
// and files here, and the rehearsal of a stack called .. would use the real stack's folder.
var stackName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

func checkStack(stack string) error {
	if !stackName.MatchString(stack) {
		return fmt.Errorf("%q %w", stack, ErrStackName)
	}
	return nil
}

// Snapshots returns the folder of the snapshots of etcd.
func (w *Workspace) Snapshots() string { return snapshotsIn(w.Backups) }

// Snapshots returns the same folder of a stack of real machines, for a program that the engine runs without em-infra.
func Snapshots(root, stack string) string { return snapshotsIn(backupsOf(root, stack)) }

// BucketVariable names the URL of a bucket that stands for that of the inventory in a rehearsal, instead of a folder.
const BucketVariable = "EM_INFRA_LAB_BUCKET"

// BucketStandIn returns the URL of what stands for the bucket of the inventory in a rehearsal, which must not write to what the real
// cluster needs; empty for a stack of real machines.
func (w *Workspace) BucketStandIn() string {
	if !w.Rehearsed {
		return ""
	}
	return cmp.Or(os.Getenv(BucketVariable), address.OfFolder(filepath.Join(w.Dir, "bucket")))
}

// Kits returns the folder of the recovery kits.
func (w *Workspace) Kits() string { return filepath.Join(w.Backups, "kit") }

func snapshotsIn(backups string) string { return filepath.Join(backups, "etcd") }

func backupsOf(root, stack string) string { return filepath.Join(root, ".backups", stack) }

// StackFile returns the stack's configuration file in use.
func (w *Workspace) StackFile() string { return filepath.Join(w.Dir, "Pulumi."+w.Stack+".yaml") }

// PassphraseHere returns where a recovery kit puts the passphrase of the state: in a rehearsal it is its own, else it lies beside the
// credentials and is used once the user's environment names it.
func (w *Workspace) PassphraseHere() string {
	if w.Rehearsed {
		return w.passphraseFile()
	}
	return filepath.Join(w.Credentials, "passphrase")
}

// Variables by which the engine compresses what it writes; it refuses both at once (pulumi pkg/v3 v3.254.0, backend/diy/backend.go). It reads
// a state in any of the three forms.
const (
	variableGzip = "PULUMI_DIY_BACKEND_GZIP"
	variableZstd = "PULUMI_DIY_BACKEND_ZSTD"
)

// choosesCompression reports whether the user's environment says how the engine writes a state.
func choosesCompression(lookUp func(string) (string, bool)) bool {
	_, gzip := lookUp(variableGzip)
	_, zstd := lookUp(variableZstd)
	return gzip || zstd
}

// Environment returns the variables of a Pulumi CLI for this workspace, including the stack for commands that name none.
func (w *Workspace) Environment() map[string]string {
	env := map[string]string{
		"PULUMI_STACK":             w.Stack,
		"PULUMI_HOME":              w.Home,
		variableBackend:            w.Backend,
		"PULUMI_SKIP_UPDATE_CHECK": "true",
	}
	if w.StateFolder() == "" && !choosesCompression(os.LookupEnv) {
		env[variableGzip] = "true"
	}
	switch {
	case w.Rehearsed:
		env["PULUMI_CONFIG_PASSPHRASE_FILE"] = w.passphraseFile()
	case w.PassphraseFile != "":
		env["PULUMI_CONFIG_PASSPHRASE_FILE"] = w.PassphraseFile
	}
	return env
}

// locate finds the state and the inventory; folder is the folder of a state whose URL is named nowhere.
func (w *Workspace) locate(folder, inventory string) error {
	if err := w.locateBackend(folder); err != nil {
		return err
	}
	return w.locateInventory(inventory)
}

// locateInventory prefers the requested path, then the path in the project's stack file, then the folder of the stack.
func (w *Workspace) locateInventory(asked string) error {
	if asked != "" {
		absolute, err := filepath.Abs(asked)
		w.Inventory = absolute
		return err
	}
	named, err := inventoryOf(filepath.Join(w.Root, "Pulumi."+w.Stack+".yaml"))
	if err != nil {
		return err
	}
	if named == "" {
		named = filepath.Join("stacks", w.Stack)
	}
	w.Inventory = filepath.Join(w.Root, named)
	return nil
}
