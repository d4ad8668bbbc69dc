package image_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	output := c.run(`
set -e
/ko-app/em-infra example
/ko-app/em-infra up --stack k3s-dev --lab --yes --time-scale 0
/ko-app/em-infra preview --stack k3s-dev --lab
/ko-app/em-infra destroy --stack k3s-dev --lab --yes
/ko-app/em-infra lab stop --stack k3s-dev
`)
	require.Contains(c.t, output, "k3s-dev is up")
	require.Contains(c.t, output, "k3s-dev is gone")
	require.NoDirExists(c.t, filepath.Join(c.project, ".credentials"))
}

// owns gives a folder to the user of the image.
func (c container) owns(folder string) {
	c.t.Helper()
	user, group, _ := strings.Cut(c.user, ":")
	uid, err := strconv.Atoi(user)
	require.NoError(c.t, err)
	gid, err := strconv.Atoi(group)
	require.NoError(c.t, err)
	require.NoError(c.t, os.Chown(folder, uid, gid), "the test runs as root")
}

// run runs a script in a container, which is removed after it. Its network is that of this machine's loopback addresses.
func (c container) run(script string) string {
	c.t.Helper()
	storage := c.t.TempDir()
	podman := []string{"--root", filepath.Join(storage, "root"), "--runroot", filepath.Join(storage, "run"), "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--runtime", "runc"}
	command := exec.Command("podman", append(podman, "run", "--rm", "--tls-verify=false", "--network", "host", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096",
		"--volume", c.project+":/project", "--workdir", "/project", "--env", "HOME=/tmp",
		"--volume", c.cache+":/cache:ro", "--env", "EM_INFRA_CACHE=/cache",
		"--entrypoint", "/bin/sh", c.image, "-c", script)...)
	output, err := command.CombinedOutput()
	require.NoError(c.t, err, "%s", output)
	return string(output)
}
