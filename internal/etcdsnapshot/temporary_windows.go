package etcdsnapshot

import "os"

// forget does nothing: Windows does not remove the name of an open file.
func forget(*os.File) error { return nil }

// duplicate opens the file a second time.
func duplicate(file *os.File) (*os.File, error) { return os.Open(file.Name()) }

// drop removes the file when it is closed.
func drop(file *os.File) error { return os.Remove(file.Name()) }
