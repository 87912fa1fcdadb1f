/* Times the collective of a library under SimGrid: COLLECTIVE and bytes a rank, one or several. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest value of all ranks, by collectives that are not measured. */
static double largest(double value, double *all, int size)
{
    MPI_Gather(&value, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 1; i < size; i++)
        all[0] = all[i] > all[0] ? all[i] : all[0];
    for (int i = 1; i < size; i++)
        all[i] = all[0];
    MPI_Scatter(all, 1, MPI_DOUBLE, &value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return value;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *counts = malloc((size_t)size * sizeof *counts);
    double *values = malloc((size_t)size * sizeof *values);
    for (int i = 2; i < argc; i++) {
        int count = atoi(argv[i]) / (int)sizeof(double), all = count * size;
        double *in = SMPI_SHARED_MALLOC((size_t)all * sizeof *in);
        double *out = SMPI_SHARED_MALLOC((size_t)all * sizeof *out), start, took;
        for (int k = 0; k < size; k++)
            counts[k] = count;
        MPI_Barrier(MPI_COMM_WORLD);
        start = largest(MPI_Wtime(), values, size);
        /* All ranks begin at the same simulated time. */
        struct timespec left = {0, (long)(1e9 * (start + 0.1 - MPI_Wtime()))};
        nanosleep(&left, NULL);
        start = MPI_Wtime();
        if (!strcmp(argv[1], "allgather"))
            MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
        else if (!strcmp(argv[1], "reducescatter"))
            MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else if (!strcmp(argv[1], "allreduce"))
            MPI_Allreduce(in, out, all, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else if (!strcmp(argv[1], "alltoall"))
            MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
        else
            MPI_Bcast(out, all, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        took = largest(MPI_Wtime() - start, values, size);
        if (!rank) {
            printf("%s %.9g\n", argv[i], 1e6 * took);
            fflush(stdout);
        }
        SMPI_SHARED_FREE(in);
        SMPI_SHARED_FREE(out);
    }
    MPI_Finalize();
    return 0;
}
