package toolchain

import "os/exec"

// clients are the programs that people use beside em-infra, in versions that fit it: those of an inventory's defaults, and those of
// the libraries with which em-infra reads the same files. The versions in mise.toml are the same.
var clients = []Tool{
	{Name: "kubectl", Kind: Client, Version: "v1.35.4", Origin: Official},
	{Name: "talosctl", Kind: Client, Version: "v1.12.4", Origin: Official},
	{Name: "sops", Kind: Client, Version: "v3.10.2", Origin: Official},
	{Name: "age", Kind: Client, Version: "v1.2.1", Origin: Official},
}

// Clients returns kubectl, talosctl, sops and age, with the paths of those that are on PATH. Version is the version that fits; the
// installed version is not checked. Em-infra itself needs none of them.
func Clients() []Tool {
	found := make([]Tool, len(clients))
	for i, client := range clients {
		found[i] = client
		if path, err := exec.LookPath(client.Name); err == nil {
			found[i].Path, found[i].Installed = path, true
		}
	}
	return found
}
