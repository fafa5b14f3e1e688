package journal

const sysSyncfs = 306 // missing in package syscall
