/* Median seconds of messages to a rank that has waited for a while: ./pingpong TURNS BYTES... */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TURNS = 100, WAIT_MICROSECONDS = 20000 };

static int compared(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    int rank, turns = atoi(argv[1]);
    double times[MOST_TURNS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    turns = turns < MOST_TURNS ? turns : MOST_TURNS;
    for (int i = 2; i < argc; i++) {
        int bytes = atoi(argv[i]);
        double *data = calloc(1, (size_t)bytes + sizeof *data);
        for (int turn = -1; turn < turns; turn++) { /* the first connects */
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                usleep(WAIT_MICROSECONDS);
                data[0] = MPI_Wtime(); /* all namespaces have the clock of the machine */
                MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            } else {
                MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (turn >= 0)
                    times[turn] = MPI_Wtime() - data[0];
            }
        }
        qsort(times, (size_t)turns, sizeof *times, compared);
        if (rank == 1)
            printf("%d %.9f\n", bytes, times[turns / 2]);
        free(data);
    }
    return MPI_Finalize();
}
