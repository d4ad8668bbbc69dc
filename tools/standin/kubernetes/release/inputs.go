package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"sigs.k8s.io/yaml"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// inputs are the inputs of a release: all fields of releaseArgs in the SDK (go/kubernetes/helm/v3/release.go). A zero value counts
// as missing, as in the official provider.
type inputs struct {
	AllowNullValues          bool           `json:"allowNullValues,omitempty"` // no effect: nulls are always kept
	Atomic                   bool           `json:"atomic,omitempty"`          // undo an operation that fails
	Chart                    string         `json:"chart,omitempty"`
	CleanupOnFail            bool           `json:"cleanupOnFail,omitempty"` // delete what a failed upgrade created
	CreateNamespace          bool           `json:"createNamespace,omitempty"`
	DependencyUpdate         bool           `json:"dependencyUpdate,omitempty"`
	Description              string         `json:"description,omitempty"`
	Devel                    bool           `json:"devel,omitempty"` // also prereleases, if no version is given
	DisableCRDHooks          bool           `json:"disableCRDHooks,omitempty"`
	DisableOpenAPIValidation bool           `json:"disableOpenapiValidation,omitempty"`
	DisableWebhooks          bool           `json:"disableWebhooks,omitempty"` // no hooks at all on install
	ForceUpdate              bool           `json:"forceUpdate,omitempty"`
	Keyring                  string         `json:"keyring,omitempty"`
	Lint                     bool           `json:"lint,omitempty"` // before an upgrade
	MaxHistory               *int           `json:"maxHistory,omitempty"`
	Name                     string         `json:"name,omitempty"`
	Namespace                string         `json:"namespace,omitempty"`
	Postrender               string         `json:"postrender,omitempty"`
	RecreatePods             bool           `json:"recreatePods,omitempty"`
	RenderSubchartNotes      bool           `json:"renderSubchartNotes,omitempty"`
	Replace                  bool           `json:"replace,omitempty"`
	RepositoryOpts           *repository    `json:"repositoryOpts,omitempty"`
	ResetValues              bool           `json:"resetValues,omitempty"`
	ReuseValues              bool           `json:"reuseValues,omitempty"`
	SkipAwait                bool           `json:"skipAwait,omitempty"`
	SkipCRDs                 bool           `json:"skipCrds,omitempty"`
	Timeout                  int            `json:"timeout,omitempty"` // seconds
	Values                   map[string]any `json:"values,omitempty"`
	Verify                   bool           `json:"verify,omitempty"`
	Version                  string         `json:"version,omitempty"`
	WaitForJobs              bool           `json:"waitForJobs,omitempty"`
}

// repository is the source of a chart that is neither a path nor an oci:// address.
type repository struct {
	CAFile   string `json:"caFile,omitempty"`
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	Password string `json:"password,omitempty"`
	Repo     string `json:"repo,omitempty"`
	Username string `json:"username,omitempty"`
}

// outputs are the outputs of a release in addition to its inputs.
type outputs struct {
	ResourceNames map[string][]string `json:"resourceNames,omitempty"` // KIND.GROUP/VERSION to NAMESPACE/NAME
	Status        *status             `json:"status,omitempty"`
}

// status is the status of the latest revision.
type status struct {
	AppVersion string `json:"appVersion,omitempty"`
	Chart      string `json:"chart,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Revision   *int   `json:"revision,omitempty"`
	Status     string `json:"status,omitempty"`
	Version    string `json:"version,omitempty"`
}

// derived are the inputs of the SDK that decode converts or drops, with their types. Files become values. The SDK's compat has no
// meaning. Outputs are no longer inputs.
var derived = map[string]string{
	"compat": "string", "manifest": "object", "resourceNames": "object", "valueYamlFiles": "array",
}

// Inputs returns the types of all inputs, by their names.
func Inputs() map[string]string {
	types := properties.Types[inputs]()
	maps.Copy(types, derived)
	return types
}

// RepositoryInputs returns the types of all inputs in repositoryOpts.
func RepositoryInputs() map[string]string { return properties.Types[repository]() }

// Outputs returns the types of all outputs that are not inputs.
func Outputs() map[string]string { return properties.Types[outputs]() }

// StatusOutputs returns the types of all outputs in status.
func StatusOutputs() map[string]string { return properties.Types[status]() }

// decode reads inputs, or the inputs in a state. Unknown values count as missing. The files of values are merged in order, and
// values are merged over them.
func decode(given resource.PropertyMap) (inputs, error) {
	plain, _ := properties.Blank(properties.Plain(given)).(map[string]any)
	fromFiles, err := readFiles(plain["valueYamlFiles"])
	if err != nil {
		return inputs{}, err
	}
	for name := range derived {
		delete(plain, name)
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return inputs{}, fmt.Errorf("read the inputs of a release: %w", err)
	}
	var decoded inputs
	if err := json.Unmarshal(text, &decoded); err != nil {
		return inputs{}, fmt.Errorf("read the inputs of a release: %w", err)
	}
	decoded.Values = merge(fromFiles, decoded.Values)
	return decoded, nil
}

func readFiles(files any) (map[string]any, error) {
	merged := map[string]any{}
	list, _ := files.([]any)
	for _, file := range list {
		asset, ok := file.(*resource.Asset)
		if !ok {
			return nil, fmt.Errorf("valueYamlFiles: %T is no file asset", file)
		}
		text, err := asset.Bytes()
		if err != nil {
			return nil, fmt.Errorf("valueYamlFiles: %w", err)
		}
		values := map[string]any{}
		if err := yaml.Unmarshal(text, &values); err != nil {
			return nil, fmt.Errorf("valueYamlFiles: %w", err)
		}
		merged = merge(merged, values)
	}
	return merged, nil
}

// merge merges values over others, map by map.
func merge(under, over map[string]any) map[string]any {
	merged := make(map[string]any, len(under)+len(over))
	maps.Copy(merged, under)
	for name, value := range over {
		below, isMap := merged[name].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			value = merge(below, above)
		}
		merged[name] = value
	}
	return merged
}

// encode returns inputs or outputs as properties. It uses the same function as the official provider, which writes zero values. A
// zero value would be a change if the state did not have it (provider/pkg/provider/helm_release.go v4.30.0, Check,
// checkpointRelease).
func encode(value any) resource.PropertyMap { return resource.NewPropertyMap(value) }

// withZeros adds zero values to the inputs in a state. An earlier version of the stand-in omitted them. With withZeros, another
// plugin that takes over the state does not upgrade the release because of them.
func withZeros(given resource.PropertyMap) resource.PropertyMap {
	whole := encode(inputs{Values: map[string]any{}})
	maps.Copy(whole, given)
	if from := given["repositoryOpts"]; from.IsObject() {
		opts := encode(repository{})
		maps.Copy(opts, from.ObjectValue())
		whole["repositoryOpts"] = resource.NewProperty(opts)
	}
	return whole
}

// defaultTimeout is the timeout, in seconds, of an operation that waits.
const defaultTimeout = 300

func (in inputs) patience() time.Duration {
	if in.Timeout == 0 {
		return defaultTimeout * time.Second
	}
	return time.Duration(in.Timeout) * time.Second
}

// id returns the ID of a release: NAMESPACE/NAME.
func (in inputs) id() string {
	if in.Namespace == "" {
		return in.Name
	}
	return in.Namespace + "/" + in.Name
}
