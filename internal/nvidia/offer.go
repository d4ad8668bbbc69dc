package nvidia

import "github.com/blang/semver/v4"

// ByOperator reports whether NVIDIA's gpu-operator offers the GPUs of a Talos release to pods: from v1.13 on, whose container toolkit
// describes them by CDI. Before, it is the device plugin alone (siderolabs/docs, v1.12 and v1.13, nvidia-gpu.mdx).
func ByOperator(talos string) bool {
	version, err := semver.ParseTolerant(talos)
	return err == nil && (version.Major > 1 || version.Major == 1 && version.Minor >= 13)
}
