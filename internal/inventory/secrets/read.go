package secrets

import (
	"context"
	"os"
	"runtime"
)

// KeysHere returns the places that sops itself searches on this machine.
func KeysHere() Keys {
	configDir, err := os.UserConfigDir()
	if err != nil {
		configDir = "" // sops itself goes without one then
	}
	if other := os.Getenv("XDG_CONFIG_HOME"); runtime.GOOS == "darwin" && other != "" {
		configDir = other // as sops does on macOS (age/keysource.go, getUserConfigDir)
	}
	return KeysOf(os.Getenv, configDir)
}

// Read reads the secrets of a folder in clear, with the keys that sops finds on this machine.
func Read(_ context.Context, folder string) (map[string]string, error) {
	loaded, err := Load(folder, KeysHere())
	if err != nil {
		return nil, err
	}
	return loaded.Reveal(), nil
}
