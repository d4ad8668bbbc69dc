package reference_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9./-]*`)

// A comment says that a key is required, or what its default is, exactly where the tags say so.
func TestCommentsAgreeWithTags(t *testing.T) {
	t.Parallel()
	var reader jsonschema.Reflector
	require.NoError(t, reader.AddGoComments("github.com/em-infra/em-infra/internal/inventory/reference", "..", jsonschema.WithFullComment()))
	for _, declared := range []any{
		inventory.Header{},
		inventory.Cluster{},
		inventory.Talos{},
		inventory.Schematic{},
		inventory.Kubernetes{},
		inventory.Endpoint{},
		inventory.Network{},
		inventory.Proxmox{},
		inventory.Template{},
		inventory.Defaults{},
		inventory.Size{},
		inventory.NodeList{},
		inventory.Node{},
		inventory.DataDisk{},
		inventory.NIC{},
		inventory.GPU{},
		inventory.Startup{},
		inventory.Addons{},
		inventory.Chart{},
		inventory.Cilium{},
		inventory.KubeletServingCertApprover{},
		inventory.MetricsServer{},
		inventory.Flux{},
		inventory.GitRepository{},
		inventory.OCIRepository{},
		inventory.Kustomization{},
		inventory.Decryption{},
		inventory.TrueNAS{},
		inventory.TrueNASCSI{},
		inventory.StorageClass{},
		inventory.Storage{},
		inventory.StorageDataset{},
		inventory.NFSShare{},
		inventory.StorageISCSI{},
		inventory.GPUSupport{},
		inventory.DevicePlugin{},
		inventory.TimeSlicing{},
		inventory.SmokeTest{},
		hosts.File{},
		hosts.Host{},
		hosts.Pool{},
		hosts.Network{},
		hosts.Bridge{},
		hosts.VLAN{},
		hosts.Addressed{},
		systems.File{},
		systems.Proxmox{},
		systems.Network{},
		systems.Source{},
		systems.Image{},
		systems.ContainerTemplate{},
		systems.VirtualMachine{},
		systems.DataDisk{},
		systems.Container{},
		systems.System{},
		systems.NIC{},
	} {
		structure := reflect.TypeOf(declared)
		fields, err := strictyaml.Fields(structure)
		require.NoError(t, err)
		for _, field := range fields {
			if field.Owner != structure {
				continue // of a struct of its own
			}
			name := structure.Name() + "." + field.Name
			comment := strings.Join(strings.Fields(reader.CommentMap[structure.PkgPath()+"."+name]), " ")
			required := field.Required
			assert.Equal(t, required, strings.Contains(comment+" ", "Required. "), "%s: %s", name, comment)
			_, fallback, found := strings.Cut(comment, "Default: ")
			assert.False(t, required && found, "%s is required and has a default", name)
			for _, part := range word.FindAllString(defaultText(t, field), -1) {
				if strings.HasSuffix(part, "MiB") || strings.HasSuffix(part, "GiB") {
					continue // the keys of a size; the comment has its units
				}
				assert.Contains(t, fallback, part, "default of %s", name)
			}
		}
	}
}

// defaultText returns the default of a field as YAML, empty without one.
func defaultText(t *testing.T, field strictyaml.Field) string {
	t.Helper()
	if field.Default == nil {
		return ""
	}
	text, err := yaml.Marshal(field.Default)
	require.NoError(t, err)
	return string(text)
}
