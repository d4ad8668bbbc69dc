package provider

import (
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// Command is the command of em-infra that is the plugin. The engine adds its address.
const Command = "plugin " + Name

// Executable returns where the plugin is in a PULUMI_HOME.
func Executable(home string) string {
	return filepath.Join(home, "plugins", "resource-"+Name+"-"+Version, "pulumi-resource-"+Name)
}

// Install puts the plugin into a PULUMI_HOME, where the engine looks for it (workspace/plugins.go of the SDK). It is a script that calls
// em-infra as the program's Commands do; tool is the start of such a call.
func Install(home, tool string) error {
	file := Executable(home)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	script := "#!/bin/sh\n# Made by em-infra, which is this plugin itself.\nexec " + tool + " " + Command + ` "$@"` + "\n"
	if there, err := os.ReadFile(file); err == nil && string(there) == script {
		return nil
	}
	return atomicfile.Write(file, []byte(script), 0o755)
}
