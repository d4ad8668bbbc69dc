package image_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// container runs an image on a project, as docs/container.md says.
type container struct {
	t       *testing.T
	image   string
	user    string
	cache   string // with the tools that were built here, since no official plugin can be downloaded
	project string
}

// livesACluster brings the cluster of the example up, finds no change, and destroys it. One container has the lab, which ends with it.
func (c container) livesACluster() {
	c.t.Helper()
	c.owns(c.project)
	tools := filepath.Join(c.t.TempDir(), "tools") // a person's own, where it is the test's here
	output, err := exec.Command("cp", "--archive", filepath.Join(c.cache, "tools"), tools).CombinedOutput()
	require.NoError(c.t, err, "%s", output)
	c.cache = filepath.Dir(tools)
	c.owns(c.cache)
	printed := c.run(`
set -e
/ko-app/em-infra example
/ko-app/em-infra up --stack k3s-dev --lab --yes --time-scale 0
/ko-app/em-infra preview --stack k3s-dev --lab
/ko-app/em-infra destroy --stack k3s-dev --lab --yes
/ko-app/em-infra lab stop --stack k3s-dev
`)
	require.Contains(c.t, printed, "k3s-dev is up")
	require.Contains(c.t, printed, "k3s-dev is gone")
	require.NoDirExists(c.t, filepath.Join(c.project, ".credentials"))
}

// owns gives a folder, with what is in it, to the user of the image.
func (c container) owns(folder string) {
	c.t.Helper()
	output, err := exec.Command("chown", "--recursive", c.user, folder).CombinedOutput()
	require.NoError(c.t, err, "the test runs as root: %s", output)
}

// run runs a script in a container, which is removed after it. Its network is that of this machine's loopback addresses.
func (c container) run(script string) string {
	c.t.Helper()
	storage := c.t.TempDir()
	podman := []string{"--root", filepath.Join(storage, "root"), "--runroot", filepath.Join(storage, "run"), "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--runtime", "runc"}
	command := exec.Command("podman", append(podman, "run", "--rm", "--tls-verify=false", "--network", "host", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096",
		"--volume", c.project+":/project", "--workdir", "/project", "--env", "HOME=/tmp",
		"--volume", c.cache+":/cache", "--env", "EM_INFRA_CACHE=/cache",
		"--entrypoint", "/bin/sh", c.image, "-c", script)...)
	output, err := command.CombinedOutput()
	require.NoError(c.t, err, "%s", output)
	return string(output)
}
