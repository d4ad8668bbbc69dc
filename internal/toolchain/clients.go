package toolchain

import "os/exec"

// clients are the programs that people use beside em-infra, with versions that fit it: those of the defaults of an inventory, and of the
// libraries that em-infra reads the same files with. mise.toml has the same.
var clients = []Tool{
	{Name: "kubectl", Kind: Client, Version: "v1.35.4", Origin: Official},
	{Name: "talosctl", Kind: Client, Version: "v1.12.4", Origin: Official},
	{Name: "sops", Kind: Client, Version: "v3.10.2", Origin: Official},
	{Name: "age", Kind: Client, Version: "v1.2.1", Origin: Official},
}

// Clients returns kubectl, talosctl, sops and age, with their paths as far as they are on PATH. Their versions are those that fit; what is
// there is not asked. Em-infra itself needs none of them.
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
