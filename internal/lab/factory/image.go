package factory

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
)

// Sizes of an image. A real ISO has about 300 MB. The lab's has less than half of that: small enough that a template costs no
// noticeable time, and large enough for progress bars and full disks.
const (
	baseBytes      = 128 << 20
	extensionBytes = 8 << 20
	// oddSectors makes images of different contents differ in size, in sectors of ISO 9660.
	oddSectors  = 512
	sectorBytes = 2048
	blockBytes  = 64 << 10
)

// image is a reader for the bytes of an ISO file. They depend on the schematic, the version and the name only.
type image struct {
	size, at int64
	block    []byte
}

func newImage(schematicID, version, path string, extensions int) *image {
	seed := sha256.Sum256([]byte(schematicID + "\x00" + version + "\x00" + path))
	source := rand.NewChaCha8(seed)

	i := &image{
		size:  baseBytes + int64(extensions)*extensionBytes + int64(source.Uint64()%oddSectors)*sectorBytes,
		block: make([]byte, blockBytes),
	}
	// ChaCha8 never returns an error.
	_, _ = source.Read(i.block)

	return i
}

// Read repeats the block up to the image's size.
func (i *image) Read(p []byte) (int, error) {
	if i.at >= i.size {
		return 0, io.EOF
	}

	n := copy(p, i.block[i.at%blockBytes:])
	n = int(min(int64(n), i.size-i.at))
	i.at += int64(n)

	return n, nil
}
