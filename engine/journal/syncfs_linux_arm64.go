package journal

const sysSyncfs = 267 // missing in package syscall
