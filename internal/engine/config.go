package engine

import (
	"context"
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
	stack, err := workspace.LoadProjectStack(nil, project, s.configFile())
	if err != nil || stack.Environment != nil || stack.EncryptedKey != "" {
		return nil, false
	}
	values, err = valuesOf(project)
	if err != nil {
		return nil, false
	}
	opener := config.NopDecrypter
	if stack.Config.HasSecureValue() {
		if opener, err = s.Passphrase.crypter(stack.EncryptionSalt); err != nil {
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

// SetConfig adds values to the stack's configuration, with secrets sealed with the passphrase, and removes others by their names. It does not use the
// CLI, which takes a secret as an argument that every user of the machine can read. A file without a salt, which a `pulumi stack init` leaves if it
// is killed after it has made the state, gets a salt as the CLI would make it.
func (s State) SetConfig(ctx context.Context, values auto.ConfigMap, removed ...string) error {
	file := s.configFile()
	stack, err := s.loadConfig()
	if err != nil {
		return err
	}
	if stack.EncryptionSalt == "" {
		if stack.EncryptionSalt, err = s.Passphrase.newSalt(ctx); err != nil {
			return err
		}
	}
	sealer, err := s.Passphrase.crypter(stack.EncryptionSalt)
	if err != nil {
		return fmt.Errorf("%s: its encryptionsalt was not made with the passphrase of this stack: delete the file, then run the command again", file)
	}
	for name, value := range values {
		key, err := config.ParseKey(name)
		if err != nil {
			return err
		}
		stored := config.NewValue(value.Value)
		if value.Secret {
			sealed, err := sealer.EncryptValue(ctx, value.Value)
			if err != nil {
				return err
			}
			stored = config.NewSecureValue(sealed)
		}
		if err := stack.Config.Set(key, stored, false); err != nil {
			return err
		}
	}
	for _, name := range removed {
		key, err := config.ParseKey(name)
		if err != nil {
			return err
		}
		if err := stack.Config.Remove(key, false); err != nil {
			return err
		}
	}
	return stack.Save(file)
}

// loadConfig reads the stack's file with its secrets as they are sealed.
func (s State) loadConfig() (*workspace.ProjectStack, error) {
	project, err := workspace.LoadProject(filepath.Join(s.Dir, "Pulumi.yaml"))
	if err != nil {
		return nil, err
	}
	return workspace.LoadProjectStack(nil, project, s.configFile())
}

func (s State) configFile() string { return filepath.Join(s.Dir, "Pulumi."+s.Stack+".yaml") }

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
