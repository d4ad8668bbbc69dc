package newstack

import "strings"

// NAS is a TrueNAS box that has storage for a cluster.
type NAS struct {
	// Endpoint of the box, e.g. https://nas.example. Default: none, the cluster has no storage on a NAS.
	Endpoint string
	// Fingerprint is the SHA-256 of its certificate, 64 hexadecimal digits. Default: none, the certificate is verified.
	Fingerprint string
	// Pool holds the datasets. Default: the only pool of the box.
	Pool string
}

// choosePool takes the only pool of the box. Whether a pool works is found by the preflight of the new stack.
func (p *proposal) choosePool() {
	if p.NAS.Endpoint == "" || p.NAS.Pool != "" {
		return
	}
	switch pools := p.site.Pools; len(pools) {
	case 0:
		p.problem("the NAS at %s has no pool: create one in Storage > Create Pool of TrueNAS", p.NAS.Endpoint)
	case 1:
		p.NAS.Pool = pools[0]
	default:
		p.problem("the NAS at %s has the pools %s: choose one with --nas-pool", p.NAS.Endpoint, strings.Join(pools, ", "))
	}
}
