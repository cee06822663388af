module hark/kernels/gen

go 1.26
