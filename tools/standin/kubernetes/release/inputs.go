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

// inputs of a release: all that releaseArgs of the SDK has (go/kubernetes/helm/v3/release.go). What is zero counts as
// not given, as with the official provider.
type inputs struct {
	AllowNullValues          bool           `json:"allowNullValues,omitempty"` // no effect: nulls are always kept
	Atomic                   bool           `json:"atomic,omitempty"`          // undo an operation that fails
	Chart                    string         `json:"chart,omitempty"`
	CleanupOnFail            bool           `json:"cleanupOnFail,omitempty"` // of what a failed upgrade made
	CreateNamespace          bool           `json:"createNamespace,omitempty"`
	DependencyUpdate         bool           `json:"dependencyUpdate,omitempty"`
	Description              string         `json:"description,omitempty"`
	Devel                    bool           `json:"devel,omitempty"` // prereleases too, when no version is given
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

// repository is where a chart comes from when it is no path and no oci:// address.
type repository struct {
	CAFile   string `json:"caFile,omitempty"`
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	Password string `json:"password,omitempty"`
	Repo     string `json:"repo,omitempty"`
	Username string `json:"username,omitempty"`
}

// outputs are what a release is like beside its inputs.
type outputs struct {
	ResourceNames map[string][]string `json:"resourceNames,omitempty"` // KIND.GROUP/VERSION to NAMESPACE/NAME
	Status        *status             `json:"status,omitempty"`
}

// status of the latest revision.
type status struct {
	AppVersion string `json:"appVersion,omitempty"`
	Chart      string `json:"chart,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Revision   *int   `json:"revision,omitempty"`
	Status     string `json:"status,omitempty"`
	Version    string `json:"version,omitempty"`
}

// derived are inputs of the SDK that decode turns into others or drops, with their types: files become values, compat
// is a mark of the SDK without a meaning, and what is an output is no input any more.
var derived = map[string]string{
	"compat": "string", "manifest": "object", "resourceNames": "object", "valueYamlFiles": "array",
}

// Inputs are the types of all inputs by their names.
func Inputs() map[string]string {
	types := properties.Types[inputs]()
	maps.Copy(types, derived)
	return types
}

// RepositoryInputs are those of all inputs of repositoryOpts.
func RepositoryInputs() map[string]string { return properties.Types[repository]() }

// Outputs are those of what a release has beside its inputs.
func Outputs() map[string]string { return properties.Types[outputs]() }

// StatusOutputs are those of all outputs in status.
func StatusOutputs() map[string]string { return properties.Types[status]() }

// decode reads inputs, or the inputs in a state; what is not known is not given. Files of values are merged in order,
// and values go over them.
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

// merge puts values over others, map by map.
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

// encode returns inputs or outputs as properties, by the function of the official provider: what is zero is written down, and
// would be a change in a state that has it not (provider/pkg/provider/helm_release.go v4.30.0, Check, checkpointRelease).
func encode(value any) resource.PropertyMap { return resource.NewPropertyMap(value) }

// withZeros adds what is zero to the inputs in a state that an earlier version of the stand-in has written, which left it out.
// A release that was handed over to somebody else is so not upgraded for it.
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

// defaultTimeout of an operation that is waited for, in seconds.
const defaultTimeout = 300

func (in inputs) patience() time.Duration {
	if in.Timeout == 0 {
		return defaultTimeout * time.Second
	}
	return time.Duration(in.Timeout) * time.Second
}

// id of a release is NAMESPACE/NAME.
func (in inputs) id() string {
	if in.Namespace == "" {
		return in.Name
	}
	return in.Namespace + "/" + in.Name
}
