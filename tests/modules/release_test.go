package modules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"

	"github.com/em-infra/em-infra/internal/toolchain"
)

// goreleaser is what the tests read of .goreleaser.yaml.
type goreleaser struct {
	Before struct{ Hooks []string }
	Builds []struct {
		ID, Main, Binary string
		Env              []string
		Goos, Goarch     []string
	}
	Archives []struct{ Files []any }
	Kos      []struct {
		Build, Main, User string
		BaseImage         string `yaml:"base_image"`
		Platforms         []string
	}
	HomebrewCasks []struct {
		Binaries, Manpages []string
		Completions        map[string]string
	} `yaml:"homebrew_casks"`
}

func releaseConfiguration(t *testing.T) goreleaser {
	t.Helper()
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	require.Len(t, config.Builds, 1)
	require.Len(t, config.Kos, 1)
	require.Len(t, config.HomebrewCasks, 1)
	return config
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into))
}

// TestReleasesAreOfCheckedSystems: a release is made for the systems whose types the test above checks, and for the one of this test.
func TestReleasesAreOfCheckedSystems(t *testing.T) {
	t.Parallel()
	build := releaseConfiguration(t).Builds[0]
	var made []system
	for _, name := range build.Goos {
		for _, architecture := range build.Goarch {
			made = append(made, system{name, architecture})
		}
	}
	require.ElementsMatch(t, append([]system{{"linux", "amd64"}}, released...), made)
	require.Equal(t, []string{"CGO_ENABLED=0"}, build.Env)
	require.DirExists(t, filepath.Join(root, build.Main))
}

// TestTheImage: both ways to build it agree, it does not run as root, and its Pulumi is the one that the program asks for.
func TestTheImage(t *testing.T) {
	t.Parallel()
	image := releaseConfiguration(t).Kos[0]
	var ko struct {
		DefaultBaseImage string `yaml:"defaultBaseImage"`
		Builds           []struct{ Main string }
	}
	readYAML(t, ".ko.yaml", &ko)
	require.Equal(t, "pulumi/pulumi-base:"+strings.TrimPrefix(requiredVersion(t, "github.com/pulumi/pulumi/sdk/v3"), "v"), image.BaseImage)
	require.Equal(t, image.BaseImage, ko.DefaultBaseImage)
	require.Equal(t, image.Main, ko.Builds[0].Main)
	require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, image.User)
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, image.Platforms)
}

// TestArchivesContainWhatTheCaskInstalls: the cask names files that the hidden command writes, below their folders in the archive.
func TestArchivesContainWhatTheCaskInstalls(t *testing.T) {
	t.Parallel()
	config := releaseConfiguration(t)
	cask := config.HomebrewCasks[0]
	require.Equal(t, []string{config.Builds[0].Binary}, cask.Binaries)
	require.Equal(t, []string{"man/em-infra.1"}, cask.Manpages)
	require.Equal(t, map[string]string{"bash": "completions/em-infra.bash", "zsh": "completions/_em-infra", "fish": "completions/em-infra.fish"}, cask.Completions)
	folders := map[string]bool{}
	for _, file := range config.Archives[0].Files {
		switch file := file.(type) {
		case string:
			found, err := filepath.Glob(filepath.Join(root, file))
			require.NoError(t, err)
			require.NotEmpty(t, found, file)
		case map[string]any:
			folders[file["dst"].(string)] = true
		}
	}
	require.Equal(t, map[string]bool{"man": true, "completions": true}, folders)
	require.Len(t, config.Before.Hooks, 1)
	require.Contains(t, config.Before.Hooks[0], "go run ./cmd/em-infra manuals bin/manuals")
}

// TestVersionsOfClients: the programs that people use beside em-infra have the versions of the inventory's defaults, and of the libraries
// that read the same files; mise.toml installs those.
func TestVersionsOfClients(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "mise.toml"))
	require.NoError(t, err)
	installed := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^([a-z]+) = "([^"]+)"$`).FindAllStringSubmatch(string(text), -1) {
		installed[line[1]] = "v" + line[2]
	}
	want := map[string]string{
		"kubectl": defaultVersion(t, "kubernetes"), "talosctl": defaultVersion(t, "talos"),
		"sops": requiredVersion(t, "github.com/getsops/sops/v3"), "age": requiredVersion(t, "filippo.io/age"),
	}
	named := map[string]string{}
	for _, client := range toolchain.Clients() {
		named[client.Name] = client.Version
	}
	require.Equal(t, want, named)
	require.Equal(t, requiredVersion(t, "github.com/pulumi/pulumi/sdk/v3"), installed["pulumi"])
	require.Contains(t, installed, "go")
	delete(installed, "pulumi")
	delete(installed, "go")
	require.Equal(t, want, installed)
}

// requiredVersion returns the version of a module in go.mod.
func requiredVersion(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	require.NoError(t, err)
	for _, required := range parsed.Require {
		if required.Mod.Path == module {
			return required.Mod.Version
		}
	}
	t.Fatalf("go.mod requires no %s", module)
	return ""
}

// defaultVersion returns the default version of a part of cluster.yaml.
func defaultVersion(t *testing.T, part string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "schemas", "cluster.schema.json"))
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct{ Default any }
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	version, isText := schema.Properties[part].Properties["version"].Default.(string)
	require.True(t, isText, part)
	return version
}
