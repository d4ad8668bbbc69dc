package newstack

// Where VMIDs are looked for: nodes in blocks of a hundred, so that those of one cluster are beside each other, and templates apart from them.
const (
	firstNode     = 101
	nodeBlock     = 100
	firstTemplate = 9000
	templateBlock = 10
)

func (p *proposal) chooseVMIDs() {
	for i, vmid := range p.freeBlock(firstNode, nodeBlock, len(p.Nodes)) {
		p.Nodes[i].VMID = vmid
	}
	hosts := p.Hosts
	if p.sharesStorages() {
		hosts = hosts[:1]
	}
	for i, vmid := range p.freeBlock(firstTemplate, templateBlock, len(hosts)) {
		p.Templates = append(p.Templates, Template{Host: hosts[i], VMID: vmid})
	}
}

// freeBlock returns the first free numbers in a row, of those that begin a block.
func (p *proposal) freeBlock(first, block, count int) []int {
	for ; ; first += block {
		var row []int
		for vmid := first; len(row) < count && !p.taken.vmids[vmid]; vmid++ {
			row = append(row, vmid)
		}
		if len(row) == count {
			return row
		}
	}
}
