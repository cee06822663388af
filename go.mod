module hark

go 1.26
