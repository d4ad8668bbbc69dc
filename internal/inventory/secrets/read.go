package secrets

import (
	"context"
	"os"
)

// Read reads the secrets of a folder in clear, with the keys that sops finds on this machine.
func Read(_ context.Context, folder string) (map[string]string, error) {
	configDir, err := os.UserConfigDir()
	if err != nil {
		configDir = "" // sops itself goes without one then
	}
	loaded, err := Load(folder, KeysOf(os.Getenv, configDir))
	if err != nil {
		return nil, err
	}
	return loaded.Reveal(), nil
}
