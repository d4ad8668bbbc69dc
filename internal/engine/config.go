package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// Config returns the stack's configuration with its secrets in clear text, merged over the values of Pulumi.yaml. read is false
// if only the CLI can read it.
func (s State) Config() (values auto.ConfigMap, read bool) {
	project, err := workspace.LoadProject(filepath.Join(s.Dir, "Pulumi.yaml"))
	if err != nil || s.Project == "" || string(project.Name) != s.Project {
		return nil, false
	}
	stack, err := workspace.LoadProjectStack(nil, project, filepath.Join(s.Dir, "Pulumi."+s.Stack+".yaml"))
	if err != nil || stack.Environment != nil || stack.EncryptedKey != "" {
		return nil, false
	}
	values, err = valuesOf(project)
	if err != nil {
		return nil, false
	}
	opener := config.NopDecrypter
	if stack.Config.HasSecureValue() {
		if opener, err = s.Passphrase.opener(stack.EncryptionSalt); err != nil {
			return nil, false
		}
	}
	plain, err := stack.Config.Decrypt(opener)
	if err != nil {
		return nil, false
	}
	for key, value := range stack.Config {
		values[key.String()] = auto.ConfigValue{Value: plain[key], Secret: value.Secure()}
	}
	return values, true
}

// valuesOf returns the values and defaults that Pulumi.yaml gives to all stacks (pulumi pkg/v3 v3.254.0, workspace/config.go,
// mergeConfig).
func valuesOf(project *workspace.Project) (auto.ConfigMap, error) {
	values := auto.ConfigMap{}
	for name, declared := range project.Config {
		value := declared.Value
		if value == nil {
			value = declared.Default
		}
		if value == nil {
			continue
		}
		key, err := config.ParseKey(name)
		if err != nil {
			key = config.MustMakeKey(string(project.Name), name)
		}
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			text = string(encoded)
		}
		values[key.String()] = auto.ConfigValue{Value: text}
	}
	return values, nil
}
