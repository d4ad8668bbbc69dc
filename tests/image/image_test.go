// Package image_test builds the container image of a release with ko, without a daemon, looks into it, and brings a cluster up with it. Run it
// with
//
//	cd tests/image && go test . -image
//
// It needs Debian's packages podman, runc and busybox-static.
package image_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var image = flag.Bool("image", false, "build the container image, minutes of processor time, and run it with podman")

const root = "../.."

// settings are those of the image in a release (.goreleaser.yaml).
type settings struct {
	Main      string
	BaseImage string `yaml:"base_image"`
	User      string
}

// TestTheImageOfARelease: ko puts the program on its base, for a user who is not root; what the image contains is looked at without a daemon.
// A container of it then brings the cluster of the example up on the emulated host, finds no change, and destroys it.
func TestTheImageOfARelease(t *testing.T) {
	t.Parallel()
	if !*image {
		t.Skip("builds the image and the tools of a lab, minutes of processor time: run it with -image")
	}
	of := settingsOfTheRelease(t)
	repository := startRegistry(t)
	cache, cli := installTools(t)
	base := repository + "/" + of.BaseImage
	pushBase(t, base, cli)
	built := build(t, of, repository, base)
	inspect(t, of, built)
	container{t: t, image: built, user: of.User, cache: cache, project: t.TempDir()}.livesACluster()
}

func settingsOfTheRelease(t *testing.T) settings {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	require.NoError(t, err)
	var release struct{ Kos []settings }
	require.NoError(t, yaml.Unmarshal(text, &release))
	require.Len(t, release.Kos, 1)
	return release.Kos[0]
}

// installTools builds the tools of a lab, unless this machine has them, and returns the folder that they are kept in and the Pulumi CLI.
func installTools(t *testing.T) (cache, cli string) {
	t.Helper()
	var tools []struct{ Name, Path string }
	require.NoError(t, json.Unmarshal(emInfra(t, "tools", "install", "--lab", "--output", "json"), &tools))
	require.Equal(t, "pulumi", tools[0].Name)
	if cache = os.Getenv("EM_INFRA_CACHE"); cache == "" {
		caches, err := os.UserCacheDir()
		require.NoError(t, err)
		cache = filepath.Join(caches, "em-infra")
	}
	return cache, tools[0].Path
}

// emInfra runs the em-infra of this checkout and returns what it prints as its result.
func emInfra(t *testing.T, args ...string) []byte {
	t.Helper()
	command := exec.Command("go", append([]string{"run", "./cmd/em-infra"}, args...)...)
	command.Dir, command.Stderr = root, os.Stderr
	output, err := command.Output()
	require.NoError(t, err)
	return output
}

// startRegistry runs an empty registry until the test ends and returns the address that names of images begin with.
func startRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	return address.Host
}

// pushBase pushes what stands for the base of a release, which no registry serves here: a shell, and the Pulumi CLI.
func pushBase(t *testing.T, reference, cli string) {
	t.Helper()
	shell, err := exec.LookPath("busybox")
	require.NoError(t, err, "it is in Debian's package busybox-static")
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	for _, file := range []struct{ name, from string }{{"bin/sh", shell}, {"usr/bin/pulumi", cli}} {
		text, err := os.ReadFile(file.from)
		require.NoError(t, err)
		require.NoError(t, files.WriteHeader(&tar.Header{Name: file.name, Mode: 0o755, Size: int64(len(text))}))
		_, err = files.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}))
	require.NoError(t, files.Close())
	content, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	require.NoError(t, err)
	base, err := mutate.AppendLayers(empty.Image, content)
	require.NoError(t, err)
	config, err := base.ConfigFile()
	require.NoError(t, err)
	config.OS, config.Architecture, config.Config.Env = "linux", "amd64", []string{"PATH=/usr/bin:/bin"}
	base, err = mutate.ConfigFile(base, config)
	require.NoError(t, err)
	require.NoError(t, crane.Push(base, reference))
}

// build builds the image with ko, as .ko.yaml says, and returns its name.
func build(t *testing.T, of settings, repository, base string) string {
	t.Helper()
	ko := filepath.Join(t.TempDir(), "ko")
	made := exec.Command("go", "build", "-trimpath", "-o", ko, "github.com/google/ko")
	made.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	output, err := made.CombinedOutput()
	require.NoError(t, err, "%s", output)

	command := exec.Command(ko, "build", "--bare", "--image-user", of.User, "--platform", "linux/amd64", "--sbom", "spdx", of.Main)
	command.Dir = root
	command.Env = append(os.Environ(), "KO_DOCKER_REPO="+repository+"/em-infra", "KO_DEFAULTBASEIMAGE="+base, "GOFLAGS=-trimpath")
	var messages bytes.Buffer
	command.Stderr = &messages
	reference, err := command.Output()
	require.NoError(t, err, "%s", messages.String())
	return strings.TrimSpace(string(reference))
}

// inspect looks into the image: who runs what, and that nothing but the program and its licence's texts lies on the base.
func inspect(t *testing.T, of settings, reference string) {
	t.Helper()
	at, err := name.ParseReference(reference)
	require.NoError(t, err)
	built, err := remote.Image(at)
	require.NoError(t, err)
	config, err := built.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, of.User, config.Config.User)
	require.Equal(t, []string{"/ko-app/em-infra"}, config.Config.Entrypoint)
	require.Equal(t, "linux", config.OS)
	layers, err := built.Layers()
	require.NoError(t, err)
	require.Contains(t, filesIn(t, layers[len(layers)-1]), "/ko-app/em-infra")
	for _, file := range filesIn(t, layers[len(layers)-1]) {
		require.True(t, strings.HasPrefix(strings.TrimPrefix(file, "/"), "ko-app"), "%s is nothing of the program", file)
	}
}

func filesIn(t *testing.T, layer v1.Layer) []string {
	t.Helper()
	content, err := layer.Uncompressed()
	require.NoError(t, err)
	defer content.Close()
	var names []string
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if err == io.EOF {
			return names
		}
		require.NoError(t, err)
		names = append(names, header.Name)
	}
}
