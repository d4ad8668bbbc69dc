package process

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// pipeInformation is FILE_PIPE_LOCAL_INFORMATION (ntifs.h).
type pipeInformation struct {
	kind, configuration, maximumInstances, currentInstances    uint32
	inboundQuota, readDataAvailable, outboundQuota, writeQuota uint32
	state, end                                                 uint32
}

const (
	filePipeLocalInformation = 24 // FILE_INFORMATION_CLASS (wdm.h)
	pipeIsClosing            = 4  // FILE_PIPE_CLOSING_STATE: the other end is closed
)

var queryInformationFile = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtQueryInformationFile")

// IsRead waits for the interval and reports whether the reader of a pipe is still there. It returns true if that is unknown.
func IsRead(pipe *os.File, interval time.Duration) bool {
	time.Sleep(interval)
	var status windows.IO_STATUS_BLOCK
	var information pipeInformation
	failed, _, _ := queryInformationFile.Call(pipe.Fd(), uintptr(unsafe.Pointer(&status)), uintptr(unsafe.Pointer(&information)),
		unsafe.Sizeof(information), filePipeLocalInformation)
	return failed != 0 || information.state != pipeIsClosing
}
